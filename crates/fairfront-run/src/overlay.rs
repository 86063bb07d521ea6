//! Values that plots of a front show next to its models: an estimated bound, thresholds by group, and scores
//! that the user brought.

use fairfront_core::Measure;
use serde::{Deserialize, Serialize};

/// Values that plots of a front show next to its models. They are not models of the front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overlay {
    /// The kind of values.
    pub kind: OverlayKind,
    /// The name in legends.
    pub label: String,
    /// The split whose rows have these values: `test`, `validation` or `train`; absent if the values
    /// hold for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// The measures of each point, such as `error_rate` or `demographic_parity_difference(sex)`.
    pub measures: Vec<String>,
    /// The points, in the order of the line through them.
    pub points: Vec<OverlayPoint>,
}

/// The kind of an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverlayKind {
    /// An estimate of the best values that any model on the same columns could reach.
    Bound,
    /// Thresholds by group, which use the sensitive attribute to decide.
    ByGroup,
    /// A column of scores that the user brought, usually one point.
    Score,
}

/// A point of an overlay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverlayPoint {
    /// One value per measure.
    pub values: Vec<f64>,
    /// The lower ends of a band, one per measure; empty without a band.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub low: Vec<f64>,
    /// The upper ends of a band.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub high: Vec<f64>,
    /// The name of the point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Overlay {
    /// The values of a measure, with the lower and upper ends of their band; NaN without a value.
    /// `None` if the overlay does not have the measure. The error rate and the accuracy stand for
    /// each other, with the ends of the band exchanged.
    pub fn values(&self, measure: &str) -> Option<Vec<[f64; 3]>> {
        let find = |wanted: &[&str]| {
            let names = self.measures.iter();
            names
                .clone()
                .position(|name| wanted.contains(&name.as_str()))
        };
        let error = ["error_rate", Measure::ERROR_RATE];
        let is_error = error.contains(&measure);
        let (at, flip) = match (is_error, measure) {
            (true, _) => match find(&error) {
                Some(at) => (at, false),
                None => (find(&["accuracy"])?, true),
            },
            (false, "accuracy") => match find(&["accuracy"]) {
                Some(at) => (at, false),
                None => (find(&error)?, true),
            },
            (false, other) => (find(&[other])?, false),
        };
        let of = |values: &[f64]| values.get(at).copied().unwrap_or(f64::NAN);
        let point = |point: &OverlayPoint| {
            let [value, low, high] = [&point.values, &point.low, &point.high].map(|v| of(v));
            match flip {
                false => [value, low, high],
                true => [1.0 - value, 1.0 - high, 1.0 - low],
            }
        };
        Some(self.points.iter().map(point).collect())
    }

    /// Whether the overlay belongs to plots of this split.
    pub fn is_on(&self, split: &str) -> bool {
        self.split.as_deref().is_none_or(|own| own == split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound() -> Overlay {
        Overlay {
            kind: OverlayKind::Bound,
            label: "bound".into(),
            split: Some("test".into()),
            measures: vec![
                "error_rate".into(),
                "demographic_parity_difference(a)".into(),
            ],
            points: vec![OverlayPoint {
                values: vec![0.25, 0.5],
                low: vec![0.125, 0.25],
                high: vec![0.5, 0.75],
                name: None,
            }],
        }
    }

    #[test]
    fn accuracy_and_error_rate_stand_for_each_other() {
        let bound = bound();
        let error = Some(vec![[0.25, 0.125, 0.5]]);
        assert_eq!(bound.values("error_rate"), error);
        assert_eq!(bound.values(Measure::ERROR_RATE), error);
        assert_eq!(bound.values("accuracy"), Some(vec![[0.75, 0.5, 0.875]]));
        let measure = "demographic_parity_difference(a)";
        assert_eq!(bound.values(measure), Some(vec![[0.5, 0.25, 0.75]]));
        assert_eq!(bound.values("demographic_parity_difference(b)"), None);
        let accurate = Overlay {
            measures: vec!["accuracy".into()],
            ..bound
        };
        assert_eq!(
            accurate.values("error_rate"),
            Some(vec![[0.75, 0.5, 0.875]])
        );
        assert!(accurate.is_on("test") && !accurate.is_on("train"));
    }

    #[test]
    fn short_points_have_no_values() {
        let mut bound = bound();
        bound.points[0] = OverlayPoint {
            values: vec![0.25],
            low: Vec::new(),
            high: Vec::new(),
            name: Some("a".into()),
        };
        let all = bound.values("accuracy").unwrap();
        assert!(all[0][0] == 0.75 && all[0][1].is_nan() && all[0][2].is_nan());
        let all = bound.values("demographic_parity_difference(a)").unwrap();
        assert!(all[0].iter().all(|v| v.is_nan()));
        let json = serde_json::to_value(&bound).unwrap();
        assert_eq!(json["kind"], "bound");
        assert!(json["points"][0].get("low").is_none());
        assert_eq!(serde_json::from_value::<Overlay>(json).unwrap(), bound);
    }
}
