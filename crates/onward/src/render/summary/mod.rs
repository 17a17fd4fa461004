//! A run told as one page: as text, as Markdown, and as one HTML file that loads nothing.

mod html;
mod markdown;
mod page;
mod text;
mod timeline;

pub(crate) use html::html;
pub(crate) use markdown::markdown;
pub(crate) use page::SummaryPage;
pub(crate) use text::text;
