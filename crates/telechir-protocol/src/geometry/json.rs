//! Positions in JSON. Errors show the invalid value.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{FrameId, NamedElement, Point, Region, Space, Target};
use crate::json::{InvalidMember, Members, number, number_of};

impl Point {
    pub(crate) fn to_json(self) -> Value {
        match self.space {
            Space::Screenshot => json!([number(self.x), number(self.y)]),
            Space::Thousandths | Space::Screen => {
                json!({"x": number(self.x), "y": number(self.y), "space": self.space})
            }
        }
    }

    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::Array(numbers) => match numbers.as_slice() {
                [x, y] => Some(Self::new(number_of(x)?, number_of(y)?)),
                _ => None,
            },
            Value::Object(members) => {
                let known = |name: &String| matches!(name.as_str(), "x" | "y" | "space");
                if !members.keys().all(known) {
                    return None;
                }
                let space = match members.get("space") {
                    None | Some(Value::Null) => Space::Screenshot,
                    Some(space) => Space::deserialize(space).ok()?,
                };
                let (x, y) = (number_of(members.get("x")?)?, number_of(members.get("y")?)?);
                Some(Self { x, y, space })
            }
            Value::String(text) => {
                let (x, y) = unbracketed(text).split_once(',')?;
                Some(Self::new(finite(x)?, finite(y)?))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }
}

fn unbracketed(text: &str) -> &str {
    let text = text.trim();
    let inner = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    inner('[', ']').or_else(|| inner('(', ')')).unwrap_or(text)
}

fn finite(text: &str) -> Option<f64> {
    text.trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

impl Target {
    pub(crate) const FORM: &str = "a point like [x, y], a label, a ref or a name";

    pub(crate) fn to_json(&self) -> Value {
        let framed = |name: &str, value: Value, frame: &Option<FrameId>| {
            let mut members = Map::new();
            members.insert(name.to_owned(), value);
            if let Some(frame) = frame {
                members.insert("frame".to_owned(), frame.as_str().into());
            }
            Value::Object(members)
        };
        match self {
            Self::Point(point) => point.to_json(),
            Self::Label { n, frame } => framed("label", (*n).into(), frame),
            Self::Ref { id, frame } => framed("ref", id.as_str().into(), frame),
            Self::Named(named) => named.to_json(),
        }
    }

    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let Value::Object(members) = value else {
            return Point::from_json(value).map(Self::Point);
        };
        if members.contains_key("x") {
            return Point::from_json(value).map(Self::Point);
        }
        if !members.contains_key("label") && !members.contains_key("ref") {
            return NamedElement::from_json(members.clone()).map(Self::Named);
        }
        let mut members = Members::new(members.clone());
        let target = members.element().ok()??;
        members.is_empty().then_some(target)
    }
}

impl NamedElement {
    const MEMBERS: [&str; 4] = ["name", "role", "id", "window"];

    fn to_json(&self) -> Value {
        let members = [&self.name, &self.role, &self.id, &self.window];
        Self::MEMBERS
            .into_iter()
            .zip(members)
            .filter_map(|(member, value)| Some((member.to_owned(), value.as_deref()?.into())))
            .collect::<Map<_, Value>>()
            .into()
    }

    /// None if no member identifies the element, or there are unknown members.
    fn from_json(members: Map<String, Value>) -> Option<Self> {
        let mut members = Members::new(members);
        let [name, role, id, window] = Self::MEMBERS.map(|member| members.text(member).ok());
        let named = Self {
            name: name?,
            role: role?,
            id: id?,
            window: window?,
        };
        let identifies_element = named.name.is_some() || named.role.is_some() || named.id.is_some();
        (identifies_element && members.is_empty()).then_some(named)
    }
}

impl Members {
    /// The members `label` or `ref`, with `frame`.
    pub(crate) fn element(&mut self) -> Result<Option<Target>, InvalidMember> {
        let target = if let Some(n) = self.count("label")? {
            let frame = self.text("frame")?.map(FrameId::from);
            Some(Target::Label { n, frame })
        } else if let Some(id) = self.text("ref")? {
            let frame = self.text("frame")?.map(FrameId::from);
            Some(Target::Ref { id, frame })
        } else {
            None
        };
        Ok(target)
    }
}

impl Region {
    pub(crate) fn to_json(self) -> Value {
        if self.from.space == Space::Screenshot && self.to.space == Space::Screenshot {
            let edges = [self.from.x, self.from.y, self.to.x, self.to.y];
            return edges.into_iter().map(number).collect();
        }
        json!({"from": self.from.to_json(), "to": self.to.to_json()})
    }

    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let (from, to) = match value {
            Value::Array(items) => match items.as_slice() {
                [from, to] => (Point::from_json(from)?, Point::from_json(to)?),
                [x0, y0, x1, y1] => (
                    Point::new(number_of(x0)?, number_of(y0)?),
                    Point::new(number_of(x1)?, number_of(y1)?),
                ),
                _ => return None,
            },
            Value::Object(members) if members.len() == 2 => (
                Point::from_json(members.get("from")?)?,
                Point::from_json(members.get("to")?)?,
            ),
            Value::String(text) => {
                let edges: Vec<f64> = unbracketed(text)
                    .split(',')
                    .map(finite)
                    .collect::<Option<_>>()?;
                let [x0, y0, x1, y1] = *edges else {
                    return None;
                };
                (Point::new(x0, y0), Point::new(x1, y1))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        };
        (from.space == to.space).then_some(Self { from, to })
    }
}

macro_rules! through_json {
    ($($type:ident: $form:expr)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_json().serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = Value::deserialize(deserializer)?;
                Self::from_json(&value)
                    .ok_or_else(|| D::Error::custom(format_args!("{value} is not {}", $form)))
            }
        }
    )*};
}

through_json! {
    Point: "a point like [x, y]"
    Target: Target::FORM
    Region: "a region like [x0, y0, x1, y1]"
}
