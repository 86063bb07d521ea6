//! Families of models, and the overlays that figures show next to them.

use fairfront_report::{Trail, TrailStyle};

use super::{FRONT, RunNumbers};
use crate::meaning::Better;
use crate::{Family, Overlay, OverlayKind, family_counts};

impl RunNumbers<'_> {
    /// Values of these columns, model by model, for each family that has models; one series if all
    /// models are linear.
    pub(super) fn by_family(&self, columns: &[String]) -> Vec<(&'static str, Vec<f64>)> {
        let values = self.values(columns);
        let n = self.front.len();
        let families: Vec<Family> = (0..n).map(|i| self.front.family(i)).collect();
        if families.iter().all(Family::is_linear) {
            return vec![(FRONT, values)];
        }
        let of = |family: Family| {
            let models = values.chunks_exact(columns.len()).zip(&families);
            let models = models.filter(|(_, own)| **own == family);
            models.flat_map(|(values, _)| values).copied().collect()
        };
        let counts = family_counts(&families).into_iter();
        counts
            .map(|(family, _)| (family.plural(), of(family)))
            .collect()
    }

    /// The overlays that have at least two of these measures on the split of the figure.
    pub(super) fn trails(&self, measures: &[String]) -> Vec<Trail> {
        let overlays = self.run.overlays.iter();
        let overlays = overlays.filter(|overlay| overlay.is_on(self.split));
        overlays.filter_map(|o| self.trail(o, measures)).collect()
    }

    fn trail(&self, overlay: &Overlay, measures: &[String]) -> Option<Trail> {
        let columns: Vec<Option<Vec<[f64; 3]>>> =
            measures.iter().map(|name| overlay.values(name)).collect();
        if columns.iter().flatten().count() < 2 {
            return None;
        }
        let larger = measures.iter().map(|name| {
            let known = self.run.meaning.measure(name);
            known.is_some_and(|measure| measure.better == Some(Better::Larger))
        });
        let larger: Vec<bool> = larger.collect();
        // The value is followed by the lower and the upper end of its band.
        let all = |end: &dyn Fn(bool) -> usize| -> Vec<f64> {
            let points = 0..overlay.points.len();
            let point = |i: usize| columns.iter().zip(&larger).map(move |column| (i, column));
            let values = points.flat_map(point).map(|(i, (column, larger))| {
                let Some([value, low, high]) = column.as_ref().map(|values| values[i]) else {
                    return f64::NAN;
                };
                let wanted = [value, low, high][end(*larger)];
                if wanted.is_nan() { value } else { wanted }
            });
            values.collect()
        };
        let banded = overlay.points.iter().any(|point| !point.low.is_empty());
        let band = |end: &dyn Fn(bool) -> usize| match banded {
            true => all(end),
            false => Vec::new(),
        };
        let (name, note, style) = match overlay.kind {
            OverlayKind::Bound => ("estimate", overlay.label.as_str(), TrailStyle::Dashed),
            OverlayKind::ByGroup => (
                "thresholds by group",
                "uses the sensitive attribute to decide",
                TrailStyle::Dotted,
            ),
            OverlayKind::Score => (overlay.label.as_str(), "", TrailStyle::Marks),
        };
        Some(Trail {
            name: name.into(),
            note: note.into(),
            style,
            values: all(&|_| 0),
            better: band(&|larger| if larger { 2 } else { 1 }),
            worse: band(&|larger| if larger { 1 } else { 2 }),
        })
    }
}
