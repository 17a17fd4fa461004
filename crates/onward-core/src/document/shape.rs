//! How the value of a key may look. One description serves the checker, its messages and the JSON Schema.

/// The shape that a value must have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// The number of the format.
    Format,
    /// Text, taken as written.
    Text,
    /// Text without line breaks; `${{ }}` is filled in.
    Line,
    /// Text; `${{ }}` is filled in.
    Template,
    /// A path or glob below the top of the project; `${{ }}` is filled in.
    Path,
    /// Words for a shell; `${{ }}` is refused.
    Command,
    /// Shell and its flags, split at blanks.
    Words,
    /// The condition of `if`.
    Condition,
    /// Letters, digits, `-`, `_` and `.`, fit for the id of a run.
    Word,
    PhaseId,
    Boolean,
    Integer {
        min: i64,
        max: i64,
    },
    /// Zero or more, with decimals or without.
    Number,
    Duration,
    Size,
    Rate,
    /// A regular expression; only looked at for being there.
    Pattern,
    /// A tool of a coding agent, or some of its calls, in the client's notation.
    Tool,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// As `Choice`, and a word that is known but has no place here, with the reason.
    ChoiceBut(&'static [&'static str], &'static str, &'static str),
    List(&'static Shape),
    /// A list, or one value in its place.
    OneOrMany(&'static Shape),
    Mapping(&'static Keys),
    /// Names of the author's choosing, all with the same kind of value.
    Table(NameRule, &'static Shape),
    Either(&'static [Shape]),
    Anything,
}

/// The rule for names in a [`Shape::Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    PhaseId,
    /// A variable of the environment.
    Variable,
    /// Letters, digits, `-` and `_`.
    Name,
    Free,
}

impl NameRule {
    pub(crate) fn pattern(self) -> &'static str {
        match self {
            NameRule::PhaseId => PHASE_ID_PATTERN,
            NameRule::Variable => "^[A-Za-z_][A-Za-z0-9_]*$",
            NameRule::Name => "^[A-Za-z0-9_][A-Za-z0-9_-]*$",
            NameRule::Free => "",
        }
    }

    pub(super) fn fits(self, name: &str) -> bool {
        let first = name.chars().next();
        let rest = |more: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c));
        match self {
            NameRule::PhaseId => is_phase_id(name),
            NameRule::Variable => first.is_some_and(|c| !c.is_ascii_digit()) && rest("_"),
            NameRule::Name => first.is_some_and(|c| c != '-') && rest("_-"),
            NameRule::Free => true,
        }
    }
}

pub(crate) const PHASE_ID_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";

pub(crate) fn is_phase_id(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    starts && text.len() <= 64 && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// The keys of one mapping.
#[derive(Debug)]
pub(crate) struct Keys {
    /// The mapping's name in messages: `the plan`, `a phase`.
    pub(crate) what: &'static str,
    pub(crate) fields: &'static [Field],
    pub(crate) rest: Rest,
    /// Of these exactly one must be there; none are named where any number may.
    pub(crate) one_of: &'static [&'static str],
}

/// The treatment of keys that are not listed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rest {
    Refused,
    /// `x-*` belongs to the author.
    Extensions,
    /// They are names of the author's choosing.
    Names(NameRule, &'static Shape),
}

/// One key, declared once: the checker, the reader, the JSON Schema and the reference page all go by this.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    /// One sentence, for editors and for the reference page.
    pub(crate) about: &'static str,
    pub(crate) default: Preset,
    /// A value as an author would write it, in one line of YAML.
    pub(crate) example: &'static str,
    pub(crate) support: Support,
    pub(crate) caution: Caution,
}

/// Whether a file that came from elsewhere may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caution {
    None,
    /// Any other value than the default lets something run, or keeps less from others: a person has to say so.
    NeedsTrust,
}

/// The value of a key that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preset {
    /// Nothing stands in its place: what it would ask for is not done.
    Unset,
    /// As it would be written, without quotes.
    Text(&'static str),
    Items(&'static [&'static str]),
    NoEntries,
}

/// Whether this version acts on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Support {
    Full,
    NotYet,
    /// Only where it is a mapping.
    NotYetAsText,
}

pub(crate) const fn field(key: &'static str, shape: Shape, about: &'static str) -> Field {
    Field {
        key,
        shape,
        required: false,
        about,
        default: Preset::Unset,
        example: "",
        support: Support::Full,
        caution: Caution::None,
    }
}

impl Field {
    pub(crate) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    pub(crate) const fn default(self, text: &'static str) -> Self {
        Self { default: Preset::Text(text), ..self }
    }

    pub(crate) const fn default_items(self, items: &'static [&'static str]) -> Self {
        Self { default: Preset::Items(items), ..self }
    }

    pub(crate) const fn no_entries(self) -> Self {
        Self { default: Preset::NoEntries, ..self }
    }

    pub(crate) const fn example(self, text: &'static str) -> Self {
        Self { example: text, ..self }
    }

    pub(crate) const fn needs_trust(self) -> Self {
        Self { caution: Caution::NeedsTrust, ..self }
    }

    pub(crate) const fn not_yet(self) -> Self {
        Self { support: Support::NotYet, ..self }
    }

    pub(crate) const fn not_yet_as_text(self) -> Self {
        Self { support: Support::NotYetAsText, ..self }
    }

    /// The key, or the key with its value, if it is read and checked but has no effect yet.
    pub(crate) fn unsupported(&self, value: Option<&str>) -> Option<String> {
        match self.support {
            Support::Full => None,
            Support::NotYet => Some(self.key.to_owned()),
            Support::NotYetAsText => value.map(|_| self.key.to_owned()),
        }
    }
}

impl Keys {
    /// Keys of a mapping that has no others and wants none of them.
    pub(crate) const fn of(what: &'static str, fields: &'static [Field]) -> Self {
        Self { what, fields, rest: Rest::Refused, one_of: &[] }
    }

    pub(crate) fn find(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// The value of a key that is left out, where it is a single one.
    pub(crate) fn default_text(&self, key: &str) -> Option<&'static str> {
        match self.find(key)?.default {
            Preset::Text(text) => Some(text),
            Preset::Unset | Preset::Items(_) | Preset::NoEntries => None,
        }
    }

    /// The value of a key that is left out, where it is a list.
    pub(crate) fn default_list(&self, key: &str) -> &'static [&'static str] {
        match self.find(key).map(|field| field.default) {
            Some(Preset::Items(items)) => items,
            Some(Preset::Unset | Preset::Text(_) | Preset::NoEntries) | None => &[],
        }
    }
}

impl Shape {
    /// In words, for "expected ...".
    pub(crate) fn describe(&self) -> String {
        match self {
            Shape::Format => "the number 1".to_owned(),
            Shape::Text | Shape::Template => "text".to_owned(),
            Shape::Line => "text on one line".to_owned(),
            Shape::Path => "a path below the project".to_owned(),
            Shape::Command => "a shell command".to_owned(),
            Shape::Words => "a shell and its flags".to_owned(),
            Shape::Condition => "a condition".to_owned(),
            Shape::Word => "a word of letters, digits, `-`, `_` and `.`".to_owned(),
            Shape::PhaseId => "the id of a phase".to_owned(),
            Shape::Boolean => "true or false".to_owned(),
            Shape::Integer { min, max } if *max == i64::MAX => format!("a whole number, {min} or more"),
            Shape::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Shape::Number => "a number, 0 or more".to_owned(),
            Shape::Duration => "a duration such as 30m".to_owned(),
            Shape::Size => "a size such as 2GB".to_owned(),
            Shape::Rate => "a rate such as 60/1m".to_owned(),
            Shape::Pattern => "a regular expression".to_owned(),
            Shape::Tool => "a tool such as Bash(git push:*)".to_owned(),
            Shape::Choice(words) | Shape::ChoiceBut(words, _, _) => one_of(words),
            Shape::List(item) => format!("a list, each {}", item.describe()),
            Shape::OneOrMany(item) => format!("{} or a list of them", item.describe()),
            Shape::Mapping(_) | Shape::Table(_, _) => "a mapping".to_owned(),
            Shape::Either(shapes) => shapes.iter().map(Shape::describe).collect::<Vec<_>>().join(", or "),
            Shape::Anything => "anything".to_owned(),
        }
    }
}

/// `a`, `b` or `c`.
pub(crate) fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(|word| format!("`{word}`")).collect();
            format!("{} or `{last}`", most.join(", "))
        }
    }
}
