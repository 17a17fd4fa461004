//! Members of a document, read with the name of the place where one is missing or is something else.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::model::BadFile;

const NO_TIME: &str = "is no time as RFC 3339 has it";

/// An object of a document, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    at: FieldPlace<'a>,
}

#[derive(Clone, Copy)]
enum FieldPlace<'a> {
    Top,
    Member(&'a str),
    Item(&'a str, usize),
}

impl<'a> Fields<'a> {
    pub(super) fn new(map: &'a Map<String, Value>) -> Self {
        Self { map, at: FieldPlace::Top }
    }

    fn named(&self, key: &str) -> String {
        match self.at {
            FieldPlace::Top => key.to_owned(),
            FieldPlace::Member(name) => format!("{name}.{key}"),
            FieldPlace::Item(list, at) => format!("{list}[{at}].{key}"),
        }
    }

    fn wrong(&self, key: &str, what: &str) -> BadFile {
        BadFile::Damaged(format!("`{}` {what}", self.named(key)))
    }

    /// The value, unless it is missing or null.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn value(&self, key: &str) -> Result<&'a Value, BadFile> {
        match self.map.get(key) {
            Some(Value::Null) => Err(self.wrong(key, "is null")),
            Some(value) => Ok(value),
            None => Err(self.wrong(key, "is missing")),
        }
    }

    /// There, though it may be null.
    pub(super) fn nullable(&self, key: &str) -> Result<Option<&'a Value>, BadFile> {
        match self.map.get(key) {
            Some(value) => Ok(Some(value).filter(|value| !value.is_null())),
            None => Err(self.wrong(key, "is missing")),
        }
    }

    /// A text that is not empty.
    pub(super) fn text(&self, key: &str) -> Result<&'a str, BadFile> {
        let text = self.value(key)?.as_str().ok_or_else(|| self.wrong(key, "is no text"))?;
        if text.is_empty() { Err(self.wrong(key, "is empty")) } else { Ok(text) }
    }

    pub(super) fn maybe_text(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    pub(super) fn list(&self, key: &str) -> Result<&'a [Value], BadFile> {
        self.value(key)?.as_array().map(Vec::as_slice).ok_or_else(|| self.wrong(key, "is no list"))
    }

    /// The items that are texts, where there is such a list.
    pub(super) fn maybe_texts(&self, key: &str) -> Vec<String> {
        let items = self.get(key).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    pub(super) fn object(&self, key: &'a str) -> Result<Self, BadFile> {
        let map = self.value(key)?.as_object().ok_or_else(|| self.wrong(key, "is no object"))?;
        Ok(Self { map, at: FieldPlace::Member(key) })
    }

    pub(super) fn maybe_object(&self, key: &'a str) -> Option<Self> {
        let map = self.get(key)?.as_object()?;
        Some(Self { map, at: FieldPlace::Member(key) })
    }

    pub(super) fn objects(&self, key: &'a str) -> Result<Vec<Self>, BadFile> {
        let items = self.list(key)?.iter().enumerate().map(|(at, item)| {
            let what = || BadFile::Damaged(format!("`{key}[{at}]` is no object"));
            Ok(Self { map: item.as_object().ok_or_else(what)?, at: FieldPlace::Item(key, at) })
        });
        items.collect()
    }

    pub(super) fn maybe_objects(&self, key: &'a str) -> Vec<Self> {
        let items = self.get(key).and_then(Value::as_array).into_iter().flatten().enumerate();
        items.filter_map(|(at, item)| Some(Self { map: item.as_object()?, at: FieldPlace::Item(key, at) })).collect()
    }

    pub(super) fn entries(self) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.map.iter()
    }

    /// A time that has to be there; what it must be is RFC 3339.
    pub(super) fn time(&self, key: &str) -> Result<Timestamp, BadFile> {
        let text = self.text(key)?;
        time(text).ok_or_else(|| self.wrong(key, &format!("{NO_TIME}: {text}")))
    }

    pub(super) fn maybe_time(&self, key: &str) -> Option<Timestamp> {
        self.maybe_text(key).and_then(time)
    }

    /// A time of the run as a whole, which has to be there. One without a zone is taken as UTC, and one that cannot be read as none;
    /// either is told.
    pub(super) fn run_time(&self, key: &str, warnings: &mut Vec<String>) -> Result<Option<Timestamp>, BadFile> {
        let text = self.text(key)?;
        if let Some(at) = time(text) {
            return Ok(Some(at));
        }
        let local = text.parse::<DateTime>().ok().and_then(|local| local.to_zoned(TimeZone::UTC).ok());
        let name = self.named(key);
        warnings.push(match &local {
            Some(_) => format!("`{name}` says no zone, and is taken as UTC: {text}"),
            None => format!("`{name}` {NO_TIME}: {text}"),
        });
        Ok(local.map(|local| local.timestamp()))
    }

    /// Says why a time that need not be there is none.
    pub(super) fn odd_time(&self, key: &str) -> Option<String> {
        let odd = self.get(key).filter(|value| value.as_str().and_then(time).is_none())?;
        let shown = odd.as_str().map_or_else(|| odd.to_string(), str::to_owned);
        Some(format!("`{key}` {NO_TIME}: {shown}"))
    }
}

/// A time with its offset.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    text.parse::<Timestamp>().ok()
}
