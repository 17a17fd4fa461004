//! Our own log on stderr, for whoever asks by `-v`: what the engine tells by `tracing`, a line each. Without the flag nobody listens,
//! and nothing of it is made. Secrets are cut out as in everything that is shown.

use std::fmt::{self, Write as _};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use onward_engine::redact::secrets;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber, span};

use crate::render;

/// Beginning of the targets of our crates: others do not tell of the work.
const OURS: &str = "onward_";

/// Has the log told from now on: steps where it was asked for once, every event, wait and call of git where more often.
pub(crate) fn tell(asked: u8) {
    let most = match asked {
        0 => return,
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    // It is asked for once in a process.
    let _ = tracing::subscriber::set_global_default(OwnLog { most });
}

struct OwnLog {
    most: Level,
}

impl Subscriber for OwnLog {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.is_event() && *about.level() <= self.most && about.target().starts_with(OURS)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.most))
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut said = EntryText::default();
        event.record(&mut said);
        let at = Timestamp::now().to_zoned(TimeZone::system()).strftime("%H:%M:%S%.3f").to_string();
        let place = event.metadata().target().trim_start_matches(OURS);
        let line = format!("{at} {place}: {}{}", said.message, said.fields);
        let line = render::safe::line(&secrets().text(&line));
        render::say(&format!("{}\n", render::paint::dim(&line)));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The words of an event, and its fields behind them.
#[derive(Default)]
struct EntryText {
    message: String,
    fields: String,
}

impl Visit for EntryText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
