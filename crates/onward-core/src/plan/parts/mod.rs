//! Parts of the model that stand for themselves: limits, what makes a phase done, people, matrices, revisions.

mod concurrency;
mod done;
mod external_phases;
mod limits;
mod markdown;
mod matrix;
mod notices;
mod requirement;
mod revision;

pub use concurrency::{Concurrency, WhenBusy};
pub use done::{DeclaredArtifact, KeepCopy};
pub use external_phases::{APPROVE, Approval, CHOICE, External, IfExpired, IfSilent, REJECT};
pub use limits::{Budget, Detect, Limit, MAX_WAIT_DEFAULT, Rate, Scope, WhenLimited};
pub use markdown::{MarkdownOrigin, MarkdownSettings, PhaseMark, UnsaidNeeds};
pub use matrix::{Axis, Matrix, Situation, Uses};
pub use notices::{NoticeRule, NoticeWay, Occasion};
pub use requirement::Requirement;
pub use revision::{MayEdit, ReplanKeys, ReplanRules, ReplanWhen};
