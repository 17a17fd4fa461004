//! `onward` alone: what is unfinished here, and what to type.

use jiff::Timestamp;
use onward_core::exit;
use onward_engine::{Error, ListFilter, ListItem, Onward, Project};

use super::here;
use crate::failure::Failure;
use crate::render;

/// Fails like any verb where something is wrong here.
pub(super) fn bare() -> Result<u8, Failure> {
    // Whatever is wrong here is told below.
    if let Ok(project) = here().and_then(|from| Project::find_or_new(&from, None)) {
        render::say(&render::foreign_work::line(&project.left_by_others()));
    }
    match unfinished() {
        Ok(items) if items.is_empty() => render::answer(render::list::NO_RUNS),
        Ok(items) => render::answer(&render::list::unfinished(&items, Timestamp::now())),
        Err(Error::NoProject { .. }) => render::answer(render::list::WELCOME),
        Err(why) => return Err(why.into()),
    }
    Ok(exit::DONE)
}

fn unfinished() -> onward_engine::Result<Vec<ListItem>> {
    let mut onward = Onward::look_or_lost(&here()?)?;
    let items = onward.list(&ListFilter::default())?;
    if items.is_empty()
        && let Some(lost) = onward.lost_with_the_store()
    {
        return Err(lost);
    }
    Ok(items.into_iter().filter(|item| item.status != "completed").collect())
}
