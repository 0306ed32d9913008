//! Deserializes a type from its members; an error names the member and shows what was found.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, EnumAccess, Error, IntoDeserializer, MapAccess, VariantAccess};
use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::{InvalidMember, Members};

/// A member for a field of a type.
pub(crate) struct FieldValue {
    pub(crate) field: Cow<'static, str>,
    /// The member's name in the input, for errors, if it is not that of the field.
    pub(crate) alias: Option<&'static str>,
    pub(crate) value: Value,
}

/// The members of an object as a deserializer of a struct.
pub(crate) struct Fields {
    left: std::vec::IntoIter<FieldValue>,
    current: Option<FieldValue>,
    /// Whether an error shows the value, which is then cloned.
    shows_values: bool,
}

impl Fields {
    fn new(fields: Vec<FieldValue>, shows_values: bool) -> Self {
        Self {
            left: fields.into_iter(),
            current: None,
            shows_values,
        }
    }
}

/// Moves the values, which may be images.
impl From<Map<String, Value>> for Fields {
    fn from(members: Map<String, Value>) -> Self {
        let field = |(name, value): (String, Value)| FieldValue {
            field: Cow::Owned(name),
            alias: None,
            value,
        };
        Self::new(members.into_iter().map(field).collect(), false)
    }
}

impl<'de> Deserializer<'de> for Fields {
    type Error = InvalidMember;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidMember> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de> MapAccess<'de> for Fields {
    type Error = InvalidMember;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, InvalidMember> {
        self.current = self.left.next();
        let name = |field: &FieldValue| seed.deserialize((*field.field).into_deserializer());
        self.current.as_ref().map(name).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, InvalidMember> {
        let Some(FieldValue {
            field,
            alias,
            value,
        }) = self.current.take()
        else {
            return Err(InvalidMember::custom("a value without a name"));
        };
        let member = alias.unwrap_or(&field);
        if self.shows_values {
            seed.deserialize(value.clone())
                .map_err(|error| InvalidMember::from_error(member, &value, &error))
        } else {
            seed.deserialize(value)
                .map_err(|error| InvalidMember::Contradiction(format!("`{member}`: {error}")))
        }
    }
}

/// The members of an object as a deserializer of a struct, which leaves the unknown ones.
pub(crate) struct KnownFields<'a>(pub(crate) &'a mut Members);

impl<'de> Deserializer<'de> for KnownFields<'_> {
    type Error = InvalidMember;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, InvalidMember> {
        Err(InvalidMember::custom("only a struct has known fields"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidMember> {
        let known = |field: &&'static str| {
            Some(FieldValue {
                field: Cow::Borrowed(*field),
                alias: None,
                value: self.0.take(field)?,
            })
        };
        let known = fields.iter().filter_map(known).collect();
        visitor.visit_map(Fields::new(known, true))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A variant's name and a function that gives the members for its fields.
pub(crate) struct Variant<F> {
    pub(crate) name: &'static str,
    pub(crate) fields: F,
}

impl<'de, F> Deserializer<'de> for Variant<F>
where
    F: FnOnce(&'static [&'static str]) -> Result<Vec<FieldValue>, InvalidMember>,
{
    type Error = InvalidMember;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InvalidMember> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de, F> EnumAccess<'de> for Variant<F>
where
    F: FnOnce(&'static [&'static str]) -> Result<Vec<FieldValue>, InvalidMember>,
{
    type Error = InvalidMember;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), InvalidMember> {
        let name = seed.deserialize(self.name.into_deserializer())?;
        Ok((name, self))
    }
}

const UNNAMED_FIELDS: &str = "the fields of a variant need names";

impl<'de, F> VariantAccess<'de> for Variant<F>
where
    F: FnOnce(&'static [&'static str]) -> Result<Vec<FieldValue>, InvalidMember>,
{
    type Error = InvalidMember;

    fn unit_variant(self) -> Result<(), InvalidMember> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        _seed: T,
    ) -> Result<T::Value, InvalidMember> {
        Err(InvalidMember::custom(UNNAMED_FIELDS))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        _visitor: V,
    ) -> Result<V::Value, InvalidMember> {
        Err(InvalidMember::custom(UNNAMED_FIELDS))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InvalidMember> {
        visitor.visit_map(Fields::new((self.fields)(fields)?, true))
    }
}
