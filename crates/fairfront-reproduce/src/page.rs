//! The page.

use crate::Reproduction;

pub(crate) fn markdown(_reproduction: &Reproduction, _figures: &str) -> String {
    String::new()
}
