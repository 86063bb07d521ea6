//! Simulated loan decisions with known bias.
//!
//! Each applicant has a *merit*, the log-odds of approval, which depends only on income, debt, late
//! payments, savings and years employed. The recorded decision subtracts a bias by sex and race from it.
//! Occupation and hours are proxies for sex, the district is a proxy for race, and women are paid less for
//! the same work. So a model that never sees either attribute can still be unfair in two ways: through the
//! biased decisions it learns from, and through real differences.
//!
//! With the setting `change`, the population changes partway, as in a stream. After this share of the rows,
//! more women apply, debt counts for more and income for less, the bank is stricter, and its bias is
//! doubled.

use fairfront_core::{Purpose, Stream};

use super::{check_memory, check_rows, check_settings, setting, with_room};
use crate::Error;
use crate::grammar::Call;
use crate::memory::MemoryLimit;
use crate::spec::{MissingPolicy, Spec};
use crate::table::{Column, Interner, MISSING, Table};

/// The bias against women in the demo table, in log-odds (times the setting `bias`).
pub const DEMO_BIAS_WOMEN: f64 = 0.7;

/// The bias by race, also in log-odds.
pub const DEMO_BIAS_RACE: [(&str, f64); 5] = [
    ("Asian", 0.1),
    ("Black", 0.6),
    ("Hispanic", 0.45),
    ("Other", 0.3),
    ("White", 0.0),
];

const RACE_SHARES: [f64; 5] = [0.08, 0.15, 0.15, 0.04, 0.58];
const WOMEN_SHARE: f64 = 0.47;
/// Share of women after the change.
const WOMEN_SHARE_CHANGED: f64 = 0.6;
/// Share of each race that lives in its own three districts rather than anywhere.
const SEGREGATION: f64 = 0.65;
/// The effects of income and debt on a decision, and its constant term.
const DECISION: Decision = Decision {
    base: 0.9,
    income: 1.5,
    debt: 3.0,
    bias: 1.0,
};
/// The same after the change.
const DECISION_CHANGED: Decision = Decision {
    base: 0.3,
    income: 0.8,
    debt: 6.0,
    bias: 2.0,
};
/// The amount by which women's log income is lower for the same work.
const PAY_GAP: f64 = 0.12;

const DISTRICTS: [&str; 15] = [
    "Ashfield",
    "Bellevue",
    "Canal Side",
    "Docklands",
    "Eastgate",
    "Fairmount",
    "Garden Hill",
    "Harbour",
    "Ironworks",
    "Junction",
    "Kingsway",
    "Lakeside",
    "Millbrook",
    "Northgate",
    "Old Town",
];

/// Occupation, its effect on log income, its weight for men and for women.
const OCCUPATIONS: [(&str, f64, f64, f64); 8] = [
    ("care", -0.20, 0.04, 0.18),
    ("clerical", -0.10, 0.08, 0.22),
    ("construction", -0.05, 0.20, 0.02),
    ("engineering", 0.35, 0.16, 0.05),
    ("management", 0.45, 0.14, 0.10),
    ("sales", 0.00, 0.14, 0.16),
    ("teaching", 0.05, 0.06, 0.20),
    ("transport", -0.10, 0.18, 0.07),
];

const EDUCATION: [(&str, f64, f64); 5] = [
    ("bachelor", 0.30, 0.24),
    ("doctorate", 0.55, 0.02),
    ("master", 0.42, 0.11),
    ("secondary", 0.00, 0.45),
    ("vocational", 0.10, 0.18),
];

const HOUSING: [(&str, f64); 3] = [("mortgage", 0.38), ("own", 0.20), ("rent", 0.42)];

const PURPOSES: [(&str, f64); 5] = [
    ("business", 0.12),
    ("car", 0.34),
    ("education", 0.14),
    ("home", 0.28),
    ("medical", 0.12),
];

/// How merit becomes a decision, in log-odds.
struct Decision {
    base: f64,
    income: f64,
    debt: f64,
    /// Multiplied by the setting `bias`.
    bias: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    rows: usize,
    seed: u64,
    bias: f64,
    /// Share of the rows before the population changes.
    change: f64,
}

impl Settings {
    pub(super) fn from_call(call: &Call) -> Result<Self, Error> {
        check_settings(call, &["rows", "seed", "bias", "change"])?;
        let settings = Self {
            rows: setting(call, "rows", 20_000)?,
            seed: setting(call, "seed", 0)?,
            bias: setting(call, "bias", 1.0)?,
            change: setting(call, "change", 1.0)?,
        };
        check_rows(call, settings.rows)?;
        if !settings.bias.is_finite() {
            return Err(Error::Usage("demo: the bias must be finite".into()));
        }
        if !(0.0..=1.0).contains(&settings.change) {
            return Err(Error::usage(format!(
                "demo: change={} is out of range; choose a share of the rows from 0 to 1 (no change)",
                settings.change
            )));
        }
        Ok(settings)
    }

    /// Whether a row belongs to the population after the change.
    fn is_changed(&self, index: usize) -> bool {
        index as f64 >= self.change * self.rows as f64
    }
}

pub(super) fn spec() -> Spec {
    let policy = |(column, policy): (&str, MissingPolicy)| (column.to_owned(), policy);
    Spec {
        target: Some("approved".into()),
        positive: Some("yes".into()),
        sensitive: vec![vec!["sex".into()], vec!["race".into()]],
        // Recorded for audits; a lender is not allowed to use them.
        drop: vec!["marital_status".into(), "disability".into()],
        missing_by_column: [
            ("savings", MissingPolicy::Mean),
            ("occupation", MissingPolicy::Category),
        ]
        .into_iter()
        .map(policy)
        .collect(),
        missing: MissingPolicy::Drop,
        ..Spec::default()
    }
}

struct Applicant {
    age: f64,
    sex: &'static str,
    race: Option<&'static str>,
    marital_status: &'static str,
    disability: &'static str,
    district: &'static str,
    education: &'static str,
    occupation: Option<&'static str>,
    hours: f64,
    years_employed: f64,
    income: f64,
    savings: f64,
    debt_ratio: f64,
    late_payments: f64,
    housing: &'static str,
    purpose: &'static str,
    amount: f64,
    approved: &'static str,
}

impl Applicant {
    /// Draws applicant `index`. The result does not depend on the number of rows, unless the population
    /// changes. The bias affects only the decision.
    fn draw(settings: &Settings, index: usize) -> Self {
        let random = &mut Stream::new(settings.seed, Purpose::Demo, [index as u64, 0]);
        let (women_share, decision) = match settings.is_changed(index) {
            false => (WOMEN_SHARE, DECISION),
            true => (WOMEN_SHARE_CHANGED, DECISION_CHANGED),
        };
        let woman = random.chance(women_share);
        let race = random.pick(&RACE_SHARES);
        let age = (41.0 + 13.0 * random.normal()).clamp(18.0, 80.0).round();
        let marital_status =
            match random.pick(&[(60.0 - age).max(5.0), age, 0.3 * age, (age - 45.0).max(0.0)]) {
                0 => "single",
                1 => "married",
                2 => "divorced",
                _ => "widowed",
            };
        let disability = if random.chance(0.04 + 0.0015 * (age - 18.0)) {
            "yes"
        } else {
            "no"
        };
        let district = if random.chance(SEGREGATION) {
            race * 3 + random.below(3)
        } else {
            random.below(DISTRICTS.len())
        };
        let education = EDUCATION[random.pick(&EDUCATION.map(|e| e.2))];
        let weights = OCCUPATIONS.map(|o| if woman { o.3 } else { o.2 });
        let occupation = OCCUPATIONS[random.pick(&weights)];
        let hours = (if woman { 35.0 } else { 40.0 } + 6.0 * random.normal())
            .clamp(10.0, 70.0)
            .round();
        let years_employed = ((age - 18.0) * random.uniform() * random.uniform().sqrt()).round();
        let log_income = 10.4 + education.1 + occupation.1 + 0.012 * years_employed
            - if woman { PAY_GAP } else { 0.0 }
            + 0.35 * random.normal();
        let log_savings = 8.5 + 0.8 * (log_income - 10.6) + 1.2 * random.normal();
        let debt_ratio = 1.0 / (1.0 + libm::exp(1.0 - 0.8 * random.normal()));
        let late_payments = random.pick(&[0.52, 0.24, 0.12, 0.07, 0.03, 0.02]) as f64;
        let merit =
            decision.base + decision.income * (log_income - 10.6) + 0.25 * (log_savings - 8.5)
                - decision.debt * (debt_ratio - 0.3)
                - 0.6 * late_payments
                + 0.03 * years_employed;
        let housing = HOUSING[random.pick(&HOUSING.map(|h| h.1))].0;
        let purpose = PURPOSES[random.pick(&PURPOSES.map(|p| p.1))].0;
        let amount = (libm::exp(9.3 + 0.5 * random.normal()) / 100.0).round() * 100.0;
        let bias = if woman { DEMO_BIAS_WOMEN } else { 0.0 } + DEMO_BIAS_RACE[race].1;
        let chance = 1.0 / (1.0 + libm::exp(settings.bias * decision.bias * bias - merit));
        let approved = if random.chance(chance) { "yes" } else { "no" };
        let present = |random: &mut Stream, missing: f64| !random.chance(missing);
        let race_known = present(random, 0.005);
        let occupation_known = present(random, 0.015);
        let income_known = present(random, 0.02);
        let savings_known = present(random, 0.04);
        let rounded = |log: f64, known: bool| match known {
            true => (libm::exp(log) / 100.0).round() * 100.0,
            false => f64::NAN,
        };
        Self {
            age,
            sex: if woman { "Female" } else { "Male" },
            race: race_known.then_some(DEMO_BIAS_RACE[race].0),
            marital_status,
            disability,
            district: DISTRICTS[district],
            education: education.0,
            occupation: occupation_known.then_some(occupation.0),
            hours,
            years_employed,
            income: rounded(log_income, income_known),
            savings: rounded(log_savings, savings_known),
            debt_ratio: (debt_ratio * 1000.0).round() / 1000.0,
            late_payments,
            housing,
            purpose,
            amount,
            approved,
        }
    }
}

/// A column under construction while applicants are drawn.
enum Drawn {
    Number(fn(&Applicant) -> f64, Vec<f64>),
    Text(fn(&Applicant) -> Option<&'static str>, Interner),
}

impl Drawn {
    fn push(&mut self, applicant: &Applicant) {
        match self {
            Self::Number(value, numbers) => numbers.push(value(applicant)),
            Self::Text(value, interner) => {
                let code = value(applicant).and_then(|text| interner.code(text.as_bytes()).ok());
                interner.codes.push(code.unwrap_or(MISSING));
            }
        }
    }

    fn into_column(self, name: &str) -> Column {
        match self {
            Self::Number(_, numbers) => Column::from_numbers(name, numbers),
            Self::Text(_, interner) => interner.into_column(name.into()),
        }
    }
}

pub(super) fn table(settings: &Settings, memory: MemoryLimit) -> Result<Table, Error> {
    let n = settings.rows;
    let number = |value: fn(&Applicant) -> f64| Ok::<_, Error>(Drawn::Number(value, with_room(n)?));
    let text = |value: fn(&Applicant) -> Option<&'static str>| {
        let mut interner = Interner::default();
        interner.codes = with_room(n)?;
        Ok::<_, Error>(Drawn::Text(value, interner))
    };
    check_memory(
        "demo",
        n,
        8 * size_of::<f64>() + 10 * size_of::<u32>(),
        memory,
    )?;
    let mut columns = [
        ("age", number(|a| a.age)?),
        ("sex", text(|a| Some(a.sex))?),
        ("race", text(|a| a.race)?),
        ("marital_status", text(|a| Some(a.marital_status))?),
        ("disability", text(|a| Some(a.disability))?),
        ("district", text(|a| Some(a.district))?),
        ("education", text(|a| Some(a.education))?),
        ("occupation", text(|a| a.occupation)?),
        ("hours_per_week", number(|a| a.hours)?),
        ("years_employed", number(|a| a.years_employed)?),
        ("income", number(|a| a.income)?),
        ("savings", number(|a| a.savings)?),
        ("debt_ratio", number(|a| a.debt_ratio)?),
        ("late_payments", number(|a| a.late_payments)?),
        ("housing", text(|a| Some(a.housing))?),
        ("loan_purpose", text(|a| Some(a.purpose))?),
        ("loan_amount", number(|a| a.amount)?),
        ("approved", text(|a| Some(a.approved))?),
    ];
    for i in 0..n {
        let applicant = Applicant::draw(settings, i);
        for (_, column) in &mut columns {
            column.push(&applicant);
        }
    }
    let columns = columns.into_iter();
    let columns = columns.map(|(name, drawn)| drawn.into_column(name));
    Ok(Table::from_columns("demo", columns.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demo(rows: usize, bias: f64) -> Table {
        changing(rows, bias, 1.0)
    }

    fn changing(rows: usize, bias: f64, change: f64) -> Table {
        let settings = Settings {
            rows,
            seed: 0,
            bias,
            change,
        };
        table(&settings, MemoryLimit::default()).unwrap()
    }

    fn strings<'a>(table: &'a Table, name: &str) -> Vec<Option<&'a str>> {
        let (codes, categories) = table.column(name).unwrap().categorical().unwrap();
        codes
            .iter()
            .map(|c| categories.get(*c as usize).map(String::as_str))
            .collect()
    }

    /// The first `n` values of a column, in a form in which missing numbers are equal.
    fn shown(table: &Table, name: &str, n: usize) -> Vec<String> {
        match table.column(name).unwrap().numeric() {
            Some(numbers) => numbers.iter().take(n).map(|x| format!("{x:?}")).collect(),
            None => strings(table, name)[..n]
                .iter()
                .map(|t| format!("{t:?}"))
                .collect(),
        }
    }

    /// Share of approvals among rows for which `wanted` holds.
    fn rate(table: &Table, column: &str, wanted: &str) -> f64 {
        let approved = strings(table, "approved");
        let of_group: Vec<bool> = strings(table, column)
            .into_iter()
            .zip(approved)
            .filter(|(group, _)| *group == Some(wanted))
            .map(|(_, approved)| approved == Some("yes"))
            .collect();
        of_group.iter().filter(|a| **a).count() as f64 / of_group.len() as f64
    }

    #[test]
    fn bias_only_lowers_decisions() {
        let (fair, biased) = (demo(4_000, 0.0), demo(4_000, 1.0));
        for column in fair.columns().iter().filter(|c| c.name != "approved") {
            let rows = |t| shown(t, &column.name, 4_000);
            assert!(rows(&fair) == rows(&biased), "{} differs", column.name);
        }
        let (before, after) = (strings(&fair, "approved"), strings(&biased, "approved"));
        let (sex, race) = (strings(&fair, "sex"), strings(&fair, "race"));
        let mut changed = 0;
        for i in 0..4_000 {
            if before[i] != after[i] {
                assert_eq!((before[i], after[i]), (Some("yes"), Some("no")));
                assert!(
                    sex[i] == Some("Female") || race[i] != Some("White"),
                    "white men are not biased against"
                );
                changed += 1;
            }
        }
        assert!(changed > 300, "{changed} decisions changed");
    }

    #[test]
    fn table_is_unfair_as_intended() {
        let (fair, biased) = (demo(20_000, 0.0), demo(20_000, 1.0));
        // Without bias, only the pay gap remains: merit differs by 1.5 · 0.12 + 0.25 · 0.8 · 0.12, and
        // races do not differ.
        let gap = |t: &Table| rate(t, "sex", "Male") - rate(t, "sex", "Female");
        assert!((0.02..0.08).contains(&gap(&fair)), "{}", gap(&fair));
        assert!(gap(&biased) > gap(&fair) + 0.08);
        let race_gap = |t: &Table| rate(t, "race", "White") - rate(t, "race", "Black");
        assert!(race_gap(&fair).abs() < 0.04, "{}", race_gap(&fair));
        assert!(race_gap(&biased) > 0.08);
    }

    #[test]
    fn proxies_predict_the_attribute() {
        let table = demo(20_000, 1.0);
        let share = |column: &str, category: &str, of: &str, group: &str| {
            let of = strings(&table, of);
            let rows: Vec<bool> = strings(&table, column)
                .into_iter()
                .zip(of)
                .filter(|(c, _)| *c == Some(category))
                .map(|(_, g)| g == Some(group))
                .collect();
            rows.iter().filter(|r| **r).count() as f64 / rows.len() as f64
        };
        assert!(share("occupation", "construction", "sex", "Female") < 0.15);
        assert!(share("occupation", "care", "sex", "Female") > 0.7);
        assert!(share("district", "Docklands", "race", "Black") > 0.4);
    }

    #[test]
    fn smaller_tables_are_prefixes_of_larger_ones() {
        let (short, long) = (demo(50, 1.0), demo(60, 1.0));
        for column in short.columns() {
            let rows = |t| shown(t, &column.name, 50);
            assert_eq!(rows(&short), rows(&long));
        }
    }

    #[test]
    fn rows_before_a_change_stay_the_same() {
        let (plain, changed) = (demo(20_000, 1.0), changing(20_000, 1.0, 0.5));
        for column in plain.columns() {
            let rows = |t| shown(t, &column.name, 10_000);
            assert!(rows(&plain) == rows(&changed), "{} differs", column.name);
        }
        let after = |table: &Table, column: &str, wanted: &str| {
            let values = &strings(table, column)[10_000..];
            values.iter().filter(|v| **v == Some(wanted)).count() as f64 / 10_000.0
        };
        let of_women = (
            after(&plain, "sex", "Female"),
            after(&changed, "sex", "Female"),
        );
        assert!((of_women.0 - 0.47).abs() < 0.02 && (of_women.1 - 0.6).abs() < 0.02);
        let approved = (
            after(&plain, "approved", "yes"),
            after(&changed, "approved", "yes"),
        );
        assert!(approved.1 < approved.0 - 0.1, "{approved:?}");
    }

    #[test]
    fn change_must_be_a_share_of_the_rows() {
        let rejected = |text: &str| {
            let call = crate::grammar::call(text).unwrap();
            Settings::from_call(&call).unwrap_err().to_string()
        };
        for share in ["-0.1", "1.5", "nan"] {
            let said = rejected(&format!("demo(change={share})"));
            assert!(said.contains("from 0 to 1"), "{said}");
        }
        // At 0 every row is changed; at 1 no row is.
        assert!(shown(&changing(50, 1.0, 0.0), "sex", 50) != shown(&demo(50, 1.0), "sex", 50));
        assert!(shown(&changing(50, 1.0, 1.0), "sex", 50) == shown(&demo(50, 1.0), "sex", 50));
    }
}
