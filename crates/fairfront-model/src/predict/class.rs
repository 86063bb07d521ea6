//! Decisions between more than two classes, and their probabilities.

/// The position of the highest score, the first one on ties.
pub(super) fn decision(scores: &[f64]) -> usize {
    let mut highest = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[highest] {
            highest = class;
        }
    }
    highest
}

/// The probability of each class, by the same operations on every machine.
pub(super) fn probabilities(scores: &[f64], factor: f64) -> Vec<f64> {
    let highest = scores[decision(scores)];
    let power = |score: &f64| libm::exp(factor * (score - highest));
    let powers: Vec<f64> = scores.iter().map(power).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

/// The log loss of a row of this class, without overflow.
pub(super) fn log_loss(scores: &[f64], factor: f64, class: usize) -> f64 {
    let highest = scores[decision(scores)];
    let power = |score: &f64| libm::exp(factor * (score - highest));
    let sum: f64 = scores.iter().map(power).sum();
    libm::log(sum) + factor * (highest - scores[class])
}

/// The name of a result of a class: `probability[low]`.
pub(crate) fn of_class(result: &str, class: &str) -> String {
    format!("{result}[{class}]")
}
