//! `onward summary [RUN]`: a run told as one page.

use jiff::Timestamp;
use onward_core::exit;
use onward_engine::Onward;
use serde_json::json;

use super::here;
use crate::args::{self, SummaryFormat};
use crate::failure::Failure;
use crate::render::summary::SummaryPage;
use crate::render::{self, summary as forms};

pub(super) fn summary(args: &args::SummaryArgs) -> Result<u8, Failure> {
    let told = Onward::look(&here()?)?.told(args.run.as_deref())?;
    if args.output.json {
        render::answer_json(&json!({ "run": told.shown, "course": told.chronicle }));
        return Ok(exit::DONE);
    }
    let page = SummaryPage::new(&told, Timestamp::now());
    render::answer(&match args.format {
        SummaryFormat::Text => forms::text(&page),
        SummaryFormat::Markdown => forms::markdown(&page),
        SummaryFormat::Html => forms::html(&page),
    });
    Ok(exit::DONE)
}
