//! Whether an answer fits a schema, and at which places it does not.

use serde_json::{Map, Number, Value};

use super::equal::{equal, is_whole};
use super::read::decoded;
use super::schema::{DEPTH_MAX, RefSiblings, ResultSchema, quoted};

/// Schemas that are applied to values, values that are compared: more than any honest answer needs.
const STEPS_MAX: usize = 1_000_000;
/// Places that are named.
const MISFITS_MAX: usize = 5;
/// How near a quotient has to be to a whole number, where a fraction is written in decimals.
const NEARLY_WHOLE: f64 = 1e-9;

/// Why the check did not come to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endless {
    Steps,
    Depth,
}

struct Check<'s> {
    schema: &'s ResultSchema,
    steps_left: usize,
    misfits: Vec<String>,
}

/// Whether a value fits; none of the misfits is told where it is only tried.
type Fits = Result<bool, Endless>;

pub(super) fn check(schema: &ResultSchema, answer: &Value) -> Result<(), String> {
    let mut check = Check { schema, steps_left: STEPS_MAX, misfits: Vec::new() };
    match check.value(&schema.root, answer, &AnswerPlace { told: true, path: String::new(), depth: 0 }) {
        Ok(true) => Ok(()),
        Ok(false) => Err(check.misfits.join("; ")),
        Err(Endless::Steps) => Err("checking it takes too long: the schema tries too many forms".to_owned()),
        Err(Endless::Depth) => Err(format!("schema and answer are more than {DEPTH_MAX} levels deep")),
    }
}

/// Where in the answer the check is.
#[derive(Clone)]
struct AnswerPlace {
    /// Misfits are to be told, since they decide.
    told: bool,
    /// As a JSON pointer.
    path: String,
    depth: usize,
}

impl AnswerPlace {
    fn below(&self, name: &str) -> Self {
        if !self.told {
            return self.deeper();
        }
        let name = name.replace('~', "~0").replace('/', "~1");
        Self { told: true, path: format!("{}/{name}", self.path), depth: self.depth + 1 }
    }

    /// The same value under a schema inside this one.
    fn deeper(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }

    /// The same, where nobody has to know why it does not fit.
    fn tried(&self) -> Self {
        Self { told: false, path: String::new(), depth: self.depth + 1 }
    }
}

impl Check<'_> {
    fn step(&mut self, count: usize) -> Result<(), Endless> {
        self.steps_left = self.steps_left.checked_sub(count.max(1)).ok_or(Endless::Steps)?;
        Ok(())
    }

    fn misfit(&mut self, at: &AnswerPlace, why: impl FnOnce() -> String) -> bool {
        if at.told && self.misfits.len() < MISFITS_MAX {
            let place = if at.path.is_empty() { "the answer" } else { &at.path };
            self.misfits.push(format!("{place} {}", why()));
        }
        false
    }

    fn value(&mut self, schema: &Value, value: &Value, at: &AnswerPlace) -> Fits {
        self.step(1)?;
        if at.depth > DEPTH_MAX {
            return Err(Endless::Depth);
        }
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(true) => return Ok(true),
            _ => return Ok(self.misfit(at, || "must not be there".to_owned())),
        };
        let mut fits = true;
        if let Some(target) = keywords.get("$ref").and_then(Value::as_str) {
            let found = self.schema.root.pointer(&decoded(target.trim_start_matches('#')));
            fits &= self.value(found.unwrap_or(&Value::Bool(false)), value, &at.deeper())?;
            if self.schema.siblings == RefSiblings::Ignored {
                return Ok(fits);
            }
        }
        fits &= self.any_value(keywords, value, at)?;
        fits &= match value {
            Value::Number(number) => self.number(keywords, number, at),
            Value::String(text) => self.text(keywords, text, at)?,
            Value::Array(items) => self.items(keywords, items, at)?,
            Value::Object(fields) => self.fields(keywords, fields, at)?,
            Value::Null | Value::Bool(_) => true,
        };
        fits &= self.combined(keywords, value, at)?;
        Ok(fits)
    }

    fn any_value(&mut self, keywords: &Map<String, Value>, value: &Value, at: &AnswerPlace) -> Fits {
        let mut fits = true;
        if let Some(types) = keywords.get("type") {
            let all = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
            if !all.iter().filter_map(Value::as_str).any(|name| is_of(name, value)) {
                let names: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
                fits = self.misfit(at, || format!("must be {}, not {}", names.join(" or "), quoted(value)));
            }
        }
        if let Some(all) = keywords.get("enum").and_then(Value::as_array) {
            self.step(all.len())?;
            if !all.iter().any(|one| equal(one, value)) {
                let words: Vec<String> = all.iter().take(MISFITS_MAX).map(quoted).collect();
                fits = self.misfit(at, || format!("must be one of {}, not {}", words.join(", "), quoted(value)));
            }
        }
        if let Some(one) = keywords.get("const").filter(|one| !equal(one, value)) {
            fits = self.misfit(at, || format!("must be {}, not {}", quoted(one), quoted(value)));
        }
        Ok(fits)
    }

    fn number(&mut self, keywords: &Map<String, Value>, number: &Number, at: &AnswerPlace) -> bool {
        let value = number.as_f64().unwrap_or_default();
        let bound = |name: &str| keywords.get(name).and_then(Value::as_f64);
        let wrong = [
            ("minimum", "at least", bound("minimum").filter(|bound| value < *bound)),
            ("maximum", "at most", bound("maximum").filter(|bound| value > *bound)),
            ("exclusiveMinimum", "more than", bound("exclusiveMinimum").filter(|bound| value <= *bound)),
            ("exclusiveMaximum", "less than", bound("exclusiveMaximum").filter(|bound| value >= *bound)),
            ("multipleOf", "a multiple of", bound("multipleOf").filter(|of| !is_multiple(value, *of))),
        ];
        let mut fits = true;
        for (name, words, _) in wrong.into_iter().filter(|(_, _, broken)| broken.is_some()) {
            fits = self.misfit(at, || format!("must be {words} {}, not {number}", keywords[name]));
        }
        fits
    }

    fn text(&mut self, keywords: &Map<String, Value>, text: &str, at: &AnswerPlace) -> Fits {
        let mut fits = true;
        let length = text.chars().count();
        if let Some(least) = count(keywords, "minLength").filter(|least| length < *least) {
            fits = self.misfit(at, || format!("must have at least {least} characters, and has {length}"));
        }
        if let Some(most) = count(keywords, "maxLength").filter(|most| length > *most) {
            fits = self.misfit(at, || format!("must have at most {most} characters, and has {length}"));
        }
        if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str)
            && !self.matches(pattern, text)?
        {
            fits = self.misfit(at, || format!("must match {pattern}, and is {}", quoted(&Value::from(text))));
        }
        Ok(fits)
    }

    fn matches(&mut self, pattern: &str, text: &str) -> Fits {
        self.step(text.len())?;
        Ok(self.schema.patterns.get(pattern).is_some_and(|compiled| compiled.is_match(text)))
    }

    fn items(&mut self, keywords: &Map<String, Value>, items: &[Value], at: &AnswerPlace) -> Fits {
        let mut fits = true;
        if let Some(least) = count(keywords, "minItems").filter(|least| items.len() < *least) {
            fits = self.misfit(at, || format!("must have at least {least} items, and has {}", items.len()));
        }
        if let Some(most) = count(keywords, "maxItems").filter(|most| items.len() > *most) {
            fits = self.misfit(at, || format!("must have at most {most} items, and has {}", items.len()));
        }
        // In older drafts the list of schemas is called `items`, and what comes after it `additionalItems`.
        let listed = ["prefixItems", "items"].iter().find_map(|name| keywords.get(*name)?.as_array());
        let first = listed.map_or(&[] as &[Value], Vec::as_slice);
        let rest = keywords.get("items").filter(|items| !items.is_array());
        let rest = rest.or_else(|| keywords.get("additionalItems").filter(|_| listed.is_some()));
        for (number, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(number).or(rest) {
                fits &= self.value(schema, item, &at.below(&number.to_string()))?;
            }
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            for (number, item) in items.iter().enumerate() {
                self.step(number.saturating_mul(size(item)))?;
                if items[..number].iter().any(|other| equal(other, item)) {
                    fits = self.misfit(at, || format!("must not have {} twice", quoted(item)));
                    break;
                }
            }
        }
        Ok(self.contained(keywords, items, at)? && fits)
    }

    fn contained(&mut self, keywords: &Map<String, Value>, items: &[Value], at: &AnswerPlace) -> Fits {
        let Some(wanted) = keywords.get("contains") else { return Ok(true) };
        let mut found = 0;
        for item in items {
            found += usize::from(self.value(wanted, item, &at.tried())?);
        }
        let (least, most) = (count(keywords, "minContains").unwrap_or(1), count(keywords, "maxContains"));
        if found >= least && most.is_none_or(|most| found <= most) {
            return Ok(true);
        }
        let most = most.map(|most| format!(" and at most {most}")).unwrap_or_default();
        Ok(self.misfit(at, || format!("must have at least {least}{most} items of a form of which it has {found}")))
    }

    fn fields(&mut self, keywords: &Map<String, Value>, fields: &Map<String, Value>, at: &AnswerPlace) -> Fits {
        let mut fits = true;
        if let Some(least) = count(keywords, "minProperties").filter(|least| fields.len() < *least) {
            fits = self.misfit(at, || format!("must have at least {least} fields, and has {}", fields.len()));
        }
        if let Some(most) = count(keywords, "maxProperties").filter(|most| fields.len() > *most) {
            fits = self.misfit(at, || format!("must have at most {most} fields, and has {}", fields.len()));
        }
        fits &= self.are_there(keywords.get("required"), fields, at);
        let object = |name: &str| keywords.get(name).and_then(Value::as_object);
        for (name, needed) in ["dependentRequired", "dependencies"].iter().filter_map(|name| object(name)).flatten() {
            if fields.contains_key(name) && needed.is_array() {
                fits &= self.are_there(Some(needed), fields, at);
            }
        }
        for (name, value) in fields {
            fits &= self.field(keywords, (name, value), at)?;
        }
        Ok(fits)
    }

    fn are_there(&mut self, names: Option<&Value>, fields: &Map<String, Value>, at: &AnswerPlace) -> bool {
        let mut fits = true;
        for name in names.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                fits = self.misfit(at, || format!("must have the field {}", quoted(&Value::from(name))));
            }
        }
        fits
    }

    fn field(&mut self, keywords: &Map<String, Value>, (name, value): (&String, &Value), at: &AnswerPlace) -> Fits {
        let mut fits = true;
        let below = at.below(name);
        if let Some(schema) = keywords.get("propertyNames")
            && !self.value(schema, &Value::from(name.as_str()), &at.tried())?
        {
            fits = self
                .misfit(at, || format!("must not have a field of the name {}", quoted(&Value::from(name.as_str()))));
        }
        let mut known = false;
        if let Some(schema) = keywords.get("properties").and_then(|all| all.get(name)) {
            known = true;
            fits &= self.value(schema, value, &below)?;
        }
        for (pattern, schema) in keywords.get("patternProperties").and_then(Value::as_object).into_iter().flatten() {
            if self.matches(pattern, name)? {
                known = true;
                fits &= self.value(schema, value, &below)?;
            }
        }
        match keywords.get("additionalProperties").filter(|_| !known) {
            Some(Value::Bool(false)) => {
                Ok(self.misfit(at, || format!("must not have the field {}", quoted(&Value::from(name.as_str())))))
            }
            Some(schema) => Ok(self.value(schema, value, &below)? && fits),
            None => Ok(fits),
        }
    }

    fn combined(&mut self, keywords: &Map<String, Value>, value: &Value, at: &AnswerPlace) -> Fits {
        let mut fits = true;
        let list = |name: &str| keywords.get(name).and_then(Value::as_array);
        for schema in list("allOf").into_iter().flatten() {
            fits &= self.value(schema, value, &at.deeper())?;
        }
        for (name, words) in [("anyOf", "fits none"), ("oneOf", "fits none, or more than one,")] {
            let Some(all) = list(name) else { continue };
            let mut found = 0;
            for schema in all {
                found += usize::from(self.value(schema, value, &at.tried())?);
                if name == "anyOf" && found > 0 {
                    break;
                }
            }
            if found != 1 {
                fits = self.misfit(at, || format!("{words} of the {} forms of {name}: {}", all.len(), quoted(value)));
            }
        }
        if let Some(schema) = keywords.get("not")
            && self.value(schema, value, &at.tried())?
        {
            fits = self.misfit(at, || format!("has a form that it must not have: {}", quoted(value)));
        }
        if let Some(condition) = keywords.get("if") {
            let then = if self.value(condition, value, &at.tried())? { "then" } else { "else" };
            if let Some(schema) = keywords.get(then) {
                fits &= self.value(schema, value, &at.deeper())?;
            }
        }
        for name in ["dependentSchemas", "dependencies"] {
            let all = keywords.get(name).and_then(Value::as_object).into_iter().flatten();
            for (_, schema) in all.filter(|(field, schema)| value.get(field.as_str()).is_some() && !schema.is_array()) {
                fits &= self.value(schema, value, &at.deeper())?;
            }
        }
        Ok(fits)
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => name == "number" || (name == "integer" && is_whole(number)),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => fields.values().map(size).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn is_multiple(value: f64, of: f64) -> bool {
    let quotient = value / of;
    quotient.is_finite() && (quotient - quotient.round()).abs() <= NEARLY_WHOLE * quotient.abs().max(1.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the reader of schemas has seen that it is no less than 0"
)]
fn count(keywords: &Map<String, Value>, name: &str) -> Option<usize> {
    keywords.get(name)?.as_f64().map(|count| count as usize)
}
