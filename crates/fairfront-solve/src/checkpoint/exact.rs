//! Numbers in JSON, including those that are not finite: `#[serde(with = "exact")]`.

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

pub(crate) fn serialize<T: Exact, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.to_wire().serialize(to)
}

pub(crate) fn deserialize<'de, T: Exact, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::Wire::deserialize(from).map(T::from_wire)
}

/// A value made of numbers, with the form in which JSON holds it.
pub(crate) trait Exact: Sized {
    type Wire: Serialize + DeserializeOwned;
    fn to_wire(&self) -> Self::Wire;
    fn from_wire(wire: Self::Wire) -> Self;
}

/// A number; a string if it is not finite.
pub(crate) struct Number(f64);

const NOT_FINITE: [(&str, f64); 3] = [
    ("NaN", f64::NAN),
    ("inf", f64::INFINITY),
    ("-inf", f64::NEG_INFINITY),
];

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match NOT_FINITE
            .iter()
            .find(|(_, x)| x.total_cmp(&self.0).is_eq())
        {
            Some((name, _)) => to.serialize_str(name),
            None if self.0.is_nan() => to.serialize_str("NaN"),
            None => to.serialize_f64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OfNumber;
        impl Visitor<'_> for OfNumber {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: Error>(self, x: f64) -> Result<Number, E> {
                Ok(Number(x))
            }

            fn visit_u64<E: Error>(self, x: u64) -> Result<Number, E> {
                Ok(Number(x as f64))
            }

            fn visit_i64<E: Error>(self, x: i64) -> Result<Number, E> {
                Ok(Number(x as f64))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                let found = NOT_FINITE.iter().find(|(name, _)| *name == text);
                let (_, x) = found.ok_or_else(|| E::custom("not a number"))?;
                Ok(Number(*x))
            }
        }
        from.deserialize_any(OfNumber)
    }
}

impl Exact for f64 {
    type Wire = Number;

    fn to_wire(&self) -> Number {
        Number(*self)
    }

    fn from_wire(wire: Number) -> Self {
        wire.0
    }
}

impl Exact for usize {
    type Wire = usize;

    fn to_wire(&self) -> usize {
        *self
    }

    fn from_wire(wire: usize) -> Self {
        wire
    }
}

impl<T: Exact> Exact for Vec<T> {
    type Wire = Vec<T::Wire>;

    fn to_wire(&self) -> Self::Wire {
        self.iter().map(T::to_wire).collect()
    }

    fn from_wire(wire: Self::Wire) -> Self {
        wire.into_iter().map(T::from_wire).collect()
    }
}

impl<T: Exact> Exact for Option<T> {
    type Wire = Option<T::Wire>;

    fn to_wire(&self) -> Self::Wire {
        self.as_ref().map(T::to_wire)
    }

    fn from_wire(wire: Self::Wire) -> Self {
        wire.map(T::from_wire)
    }
}

impl<A: Exact, B: Exact> Exact for (A, B) {
    type Wire = (A::Wire, B::Wire);

    fn to_wire(&self) -> Self::Wire {
        (self.0.to_wire(), self.1.to_wire())
    }

    fn from_wire((a, b): Self::Wire) -> Self {
        (A::from_wire(a), B::from_wire(b))
    }
}

impl<A: Exact, B: Exact, C: Exact> Exact for (A, B, C) {
    type Wire = (A::Wire, B::Wire, C::Wire);

    fn to_wire(&self) -> Self::Wire {
        (self.0.to_wire(), self.1.to_wire(), self.2.to_wire())
    }

    fn from_wire((a, b, c): Self::Wire) -> Self {
        (A::from_wire(a), B::from_wire(b), C::from_wire(c))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct State {
        #[serde(with = "super")]
        numbers: Vec<f64>,
        #[serde(with = "super")]
        known: Option<(f64, Vec<f64>)>,
    }

    proptest! {
        #[test]
        fn numbers_survive_a_round_trip_bit_by_bit(mut numbers in prop::collection::vec(any::<f64>(), 0..9)) {
            numbers.extend([0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 0.1]);
            let known = Some((numbers[0], numbers.clone()));
            let text = serde_json::to_string(&State { numbers: numbers.clone(), known }).unwrap();
            let back: State = serde_json::from_str(&text).unwrap();
            let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            let (value, gradient) = back.known.unwrap();
            prop_assert!(same(value, numbers[0]) && back.numbers.len() == numbers.len());
            for (list, name) in [(&back.numbers, "numbers"), (&gradient, "gradient")] {
                prop_assert!(numbers.iter().zip(list).all(|(a, b)| same(*a, *b)), "{name}");
            }
        }
    }

    #[test]
    fn other_values_are_rejected() {
        for text in ["null", "\"1\"", "true", "[1]"] {
            let text = format!("{{\"numbers\":[{text}],\"known\":null}}");
            assert!(serde_json::from_str::<State>(&text).is_err(), "{text}");
        }
    }
}
