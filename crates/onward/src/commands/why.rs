//! `onward why [RUN] PHASE`.

use onward_core::exit;
use onward_engine::Onward;

use super::here;
use super::next::the_run;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn why(args: &args::WhyArgs) -> Result<u8, Failure> {
    let why = Onward::look(&here()?)?.why(the_run(args.run.as_deref()).as_deref(), &args.phase)?;
    if args.output.json {
        render::answer_json(&why);
    } else {
        let will = if why.will_run { "a resume would run it" } else { "a resume would not run it" };
        let phase = render::safe::line(why.phase.as_str());
        let reasons = why.reasons.iter().map(|reason| render::safe::line(reason)).collect::<Vec<_>>().join("\n  ");
        render::answer(&format!("{phase}   {will}\n  {reasons}\n"));
    }
    Ok(exit::DONE)
}
