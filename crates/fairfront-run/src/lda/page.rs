//! The page of a search, its memo, and the table of its candidates.

use fairfront_core::{counted, grouped, readable};
use fairfront_model::Stated;
use fairfront_report::{Better, Block, Document, Prose, Scatter, Scatters, Series, Side, Table};

use super::result::{Both, Candidate, GroupOutcome, Lda};
use super::words;

/// The page: everything that was found, with intervals, tests and sources.
pub fn lda_page(lda: &Lda) -> Document {
    let mut blocks = vec![Block::Section("Result".into())];
    blocks.extend(result(lda));
    blocks.push(Block::Section("Candidates".into()));
    blocks.extend(candidates(lda));
    for (at, candidate) in shown(lda) {
        blocks.push(Block::Section(format!(
            "Model {} next to the baseline",
            candidate.model_id
        )));
        blocks.extend(of_candidate(lda, at, candidate));
    }
    blocks.push(Block::Section("Effect of each column".into()));
    blocks.extend(columns(lda));
    blocks.push(Block::Section("Limits of other models".into()));
    blocks.extend(limits(lda));
    blocks.push(Block::Section("Record of the search".into()));
    blocks.extend(searched(lda));
    blocks.push(Block::Section("How to read this page".into()));
    blocks.extend(method(lda));
    Document {
        title: "Less discriminatory alternatives".into(),
        facts: facts(lda),
        blocks,
        origin: Some(crate::document::origin(super::LDA, &lda.run.fingerprint)),
    }
}

/// The memo: the same in plain English, for the file.
pub fn lda_memo(lda: &Lda) -> Document {
    let mut blocks = vec![Block::Section("Question".into())];
    let measures: Vec<String> = lda
        .measures
        .iter()
        .map(|m| words::measure(&m.name))
        .collect();
    blocks.push(Block::Text(
        Prose::from("Is there a model that treats groups more equally than ")
            .code(&lda.baseline.name)
            .text(format!(
                ", in the {}, and that performs almost as well? \"Almost\" means: worse by less than {}.",
                measures.join(" and the "),
                words::tolerance(lda)
            )),
    ));
    blocks.push(Block::Section("Answer".into()));
    blocks.extend(result(lda));
    if let Some((at, best)) = shown(lda).into_iter().next() {
        blocks.push(Block::Section("Changes".into()));
        blocks.extend(changes_in_words(lda, at, best));
    }
    blocks.push(Block::Section("Record of the search".into()));
    blocks.extend(searched(lda));
    blocks.push(Block::Section("Limits of other models".into()));
    blocks.extend(limits(lda));
    blocks.push(Block::Section("Limits of this memo".into()));
    blocks.extend(caveats(lda));
    Document {
        title: "Memo: search for less discriminatory alternatives".into(),
        facts: facts(lda),
        blocks,
        origin: Some(crate::document::origin(super::LDA, &lda.run.fingerprint)),
    }
}

/// One row per candidate.
pub(super) fn candidates_csv(lda: &Lda) -> String {
    let mut head: Vec<String> = ["model_id", "family", "finding", "order_p_value", "p_value"]
        .map(String::from)
        .to_vec();
    let of_changed = |name: &str| {
        [
            "baseline",
            "candidate",
            "change",
            "change_low",
            "change_high",
        ]
        .map(|part| format!("{name}.{part}"))
    };
    head.extend(of_changed(&lda.tolerance.of.name()));
    head.extend(lda.measures.iter().flat_map(|m| of_changed(&m.name)));
    head.extend(["redraws_better", "redraws_within"].map(String::from));
    let mut out = csv_line(&head);
    for candidate in &lda.candidates {
        let mut line = vec![
            candidate.model_id.to_string(),
            candidate.family.name().into(),
            words::finding(candidate).replace(' ', "_"),
            candidate.order_p_value.to_string(),
            optional(candidate.p_value),
        ];
        for changed in std::iter::once(&candidate.performance).chain(&candidate.measures) {
            let [low, high] = changed.interval;
            let values = [
                changed.baseline,
                changed.candidate,
                changed.change,
                low,
                high,
            ];
            line.extend(values.map(|value| value.to_string()));
        }
        line.extend([candidate.redraws_better, candidate.redraws_within].map(optional));
        out.push_str(&csv_line(&line));
    }
    out
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn csv_line(fields: &[String]) -> String {
    let quoted = fields
        .iter()
        .map(|field| match field.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field.clone(),
        });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

/// The candidates that are described in full: the alternative that performs best and the fairest one; without an
/// alternative, the first candidate of the order.
fn shown(lda: &Lda) -> Vec<(usize, &Candidate)> {
    let mut found: Vec<&Candidate> = lda.best().into_iter().chain(lda.fairest()).collect();
    if found.is_empty() {
        found.extend(lda.candidates.first());
    }
    found.dedup_by_key(|candidate| candidate.model_id);
    found.into_iter().map(|c| (place(lda, c), c)).collect()
}

/// The position of a candidate in the list.
fn place(lda: &Lda, candidate: &Candidate) -> usize {
    let is_it = |other: &Candidate| other.model_id == candidate.model_id;
    lda.candidates.iter().position(is_it).unwrap_or(0)
}

fn facts(lda: &Lda) -> Vec<(String, Prose)> {
    let source = |entry: &str| format!("lda.json: {entry}");
    let split = lda.test.split.name();
    let mut facts: Vec<(String, Prose)> = vec![
        ("Baseline".into(), Prose::default().code(&lda.baseline.name)),
        ("Data".into(), Prose::default().code(&lda.run.source)),
        ("Positive label".into(), lda.run.target.clone().into()),
        (
            "Tested on".into(),
            Prose::default()
                .number(grouped(lda.test.rows), source("test.rows"))
                .text(format!(" {split} rows")),
        ),
        (
            "Tolerance".into(),
            Prose::default().number(words::tolerance(lda), source("tolerance")),
        ),
    ];
    for note in &lda.notes {
        facts.push(("Note".into(), note.clone().into()));
    }
    facts
}

/// The result in a few sentences.
fn result(lda: &Lda) -> Vec<Block> {
    let found = lda.alternatives().count();
    let tested = lda.candidates.iter();
    let tested = tested.filter(|c| c.p_value.is_some()).count();
    let confidence = words::percent(1.0 - lda.test.level);
    let mut blocks = Vec::new();
    let Some(best) = lda.best() else {
        let closest = lda.candidates.first();
        let mut line = Prose::from("No less discriminatory alternative was shown. ");
        if let Some(first) = closest.and_then(|c| Some((c, c.p_value?))) {
            line = line
                .text(format!(
                    "The first candidate, model {}, has p = ",
                    first.0.model_id
                ))
                .number(words::p_value(first.1), "lda.json: candidates[0].p_value")
                .text(", above the significance level of ")
                .number(readable(lda.test.level), "lda.json: test.level")
                .text(". ");
        }
        line = line.text(
            "This does not prove that there is none: with more rows, the same search can show smaller improvements.",
        );
        blocks.push(Block::Text(line));
        return blocks;
    };
    let at = lda
        .candidates
        .iter()
        .position(|c| c.model_id == best.model_id)
        .unwrap_or(0);
    let source = |entry: &str| format!("lda.json: candidates[{at}].{entry}");
    let mut line = Prose::default()
        .strong(counted(found, "less discriminatory alternative"))
        .text(format!(
            " {} found, at {confidence} confidence for all of them together ({} tested). ",
            if found == 1 { "was" } else { "were" },
            counted(tested, "candidate")
        ))
        .text(format!(
            "Model {} performs best: its {} changes by ",
            best.model_id,
            words::performance(lda.tolerance.of)
        ))
        .number(
            words::performance_change(lda.tolerance.of, best.performance.change),
            source("performance.change"),
        );
    if matches!(lda.tolerance.of, super::Performance::Accuracy) {
        line = line.text(" percentage points");
    }
    for (index, changed) in best.measures.iter().enumerate() {
        line = line
            .text(format!(
                "{} the {} changes ",
                if index == 0 { ";" } else { " and" },
                words::measure(&changed.name)
            ))
            .number(
                words::from_to(changed),
                source(&format!("measures[{index}]")),
            );
    }
    line = line.text(".");
    if let Some(fairest) = lda
        .fairest()
        .filter(|other| other.model_id != best.model_id)
    {
        let at = place(lda, fairest);
        let source = format!("lda.json: candidates[{at}]");
        if let Some(changed) = fairest.measures.first() {
            line = line
                .text(format!(
                    " Model {} has the smallest {}: it changes ",
                    fairest.model_id,
                    words::measure(&changed.name)
                ))
                .number(words::from_to(changed), source.clone())
                .text(format!(
                    ", and the {} by ",
                    words::performance(lda.tolerance.of)
                ))
                .number(
                    words::performance_change(lda.tolerance.of, fairest.performance.change),
                    source,
                );
            if matches!(lda.tolerance.of, super::Performance::Accuracy) {
                line = line.text(" percentage points");
            }
            line = line.text(".");
        }
    }
    blocks.push(Block::Text(line));
    if lda.test.stated == Stated::AfterLooking {
        blocks.push(Block::Callout(Prose::from(
            "The candidates were tested on test rows, which the run had shown before. If the tolerance or the \
             measure was chosen after looking at results on these rows, the confidence is overstated. Rows of a \
             certify split are not shown before the test.",
        )));
    }
    blocks
}

/// The tested candidates in the order of their tests, and a figure of all.
fn candidates(lda: &Lda) -> Vec<Block> {
    let mut head = vec![
        "Model".to_owned(),
        "Family".into(),
        "Result".into(),
        "p".into(),
    ];
    let of = lda.tolerance.of;
    let unit = match of {
        super::Performance::Accuracy => " (percentage points)",
        _ => "",
    };
    head.push(format!("Change of {}{unit}", words::performance(of)));
    for measure in &lda.measures {
        head.push(capitalized(&words::measure(&measure.name)));
        head.push("Change (percentage points)".into());
    }
    head.push("Redraws better in all".into());
    head.push("Redraws within tolerance".into());
    let row = |(at, candidate): (usize, &Candidate)| {
        let source = format!("lda.json: candidates[{at}]");
        let number = |shown: String| Prose::default().number(shown, source.clone());
        let mut row: Vec<Prose> = vec![
            candidate.model_id.to_string().into(),
            candidate.family.name().into(),
            words::finding(candidate).into(),
            match candidate.p_value {
                Some(p) => number(words::p_value(p)),
                None => "–".into(),
            },
        ];
        let change = |value: f64| words::performance_change(of, value);
        row.push(number(format!(
            "{} {}",
            change(candidate.performance.change),
            words::interval(candidate.performance.interval, change)
        )));
        for changed in &candidate.measures {
            row.push(number(words::percent(changed.candidate)));
            let shown = format!(
                "{} {}",
                words::points(changed.change),
                words::interval(changed.interval, words::points)
            );
            row.push(number(shown));
        }
        row.push(number(words::percent_or_dash(candidate.redraws_better)));
        row.push(number(words::percent_or_dash(candidate.redraws_within)));
        row
    };
    let tested = lda.candidates.iter().enumerate();
    let tested = tested.filter(|(_, candidate)| candidate.p_value.is_some());
    let others = lda.candidates.len() - tested.clone().count();
    let mut blocks = vec![Block::Text(baseline_line(lda))];
    blocks.extend(figure(lda));
    blocks.push(Block::Table(Table {
        caption: format!(
            "Candidates in the order of their tests, with {} intervals of paired changes",
            words::percent(lda.test.confidence)
        )
        .into(),
        head,
        rows: tested.map(row).collect(),
        text_columns: vec![1, 2],
    }));
    if others > 0 {
        blocks.push(Block::Text(
            Prose::from("Not tested: ")
                .number(counted(others, "model"), "lda.json: candidates")
                .text(", which another candidate beats or which come after the first that was not shown. All are in ")
                .code("candidates.csv")
                .text("."),
        ));
    }
    blocks
}

fn baseline_line(lda: &Lda) -> Prose {
    let Some(first) = lda.candidates.first() else {
        return Prose::from(
            "The front has no candidate whose rates are all defined on these rows.",
        );
    };
    let mut line = Prose::from(format!(
        "The baseline has {} of ",
        article(words::performance(lda.tolerance.of))
    ))
    .number(
        words::performance_value(lda.tolerance.of, first.performance.baseline),
        "lda.json: candidates[0].performance.baseline",
    );
    for (index, (changed, info)) in first.measures.iter().zip(&lda.measures).enumerate() {
        line = line
            .text(format!(" and a {} of ", words::measure(&changed.name)))
            .number(
                words::percent(changed.baseline),
                format!("lda.json: candidates[0].measures[{index}].baseline"),
            )
            .text(format!(
                "; on the {} rows, {} had the highest and {} the lowest rate",
                lda.test.order_split.name(),
                info.worst.higher,
                info.worst.lower
            ));
    }
    line.text(".")
}

fn article(noun: &str) -> String {
    match noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {noun}"),
        false => format!("a {noun}"),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).collect()
}

/// Performance and first difference of all candidates and of the baseline.
fn figure(lda: &Lda) -> Option<Block> {
    let first = lda.candidates.first()?;
    let changed = first.measures.first()?;
    let points = |of: &dyn Fn(&Candidate) -> bool| -> Vec<f64> {
        let all = lda.candidates.iter().filter(|c| of(c));
        let placed =
            all.filter_map(|c| Some([c.measures.first()?.candidate, c.performance.candidate]));
        placed.flatten().collect()
    };
    let is_found = |c: &Candidate| c.finding == super::Finding::LessDiscriminatory;
    let (found, others) = (points(&is_found), points(&|c| !is_found(c)));
    let baseline = [changed.baseline, first.performance.baseline];
    let better = match lda.tolerance.of.larger_is_better() {
        true => Better::Higher,
        false => Better::Lower,
    };
    let figure = Scatters {
        title: String::new(),
        panels: vec![Scatter {
            title: String::new(),
            x: Side {
                name: words::measure(&changed.name),
                better: Better::Lower,
            },
            y: Side {
                name: words::performance(lda.tolerance.of).into(),
                better,
            },
            series: vec![
                Series {
                    name: "less discriminatory",
                    values: &found,
                },
                Series {
                    name: "other candidates",
                    values: &others,
                },
                Series {
                    name: "baseline",
                    values: &baseline,
                },
            ],
            marked: Vec::new(),
        }],
        marked: String::new(),
    };
    Some(Block::Figure {
        svg: figure.to_svg(),
        alt: format!(
            "{} and {} of all candidates and of the baseline",
            words::performance(lda.tolerance.of),
            words::measure(&changed.name)
        ),
        caption: format!(
            "All candidates and the baseline on the {} rows.",
            lda.test.split.name()
        )
        .into(),
    })
}

/// Everything about one candidate.
fn of_candidate(lda: &Lda, at: usize, candidate: &Candidate) -> Vec<Block> {
    let mut blocks = changes_in_words(lda, at, candidate);
    blocks.extend(rates(lda, at, candidate).map(Block::Table));
    blocks.push(Block::Table(people(at, candidate)));
    if !candidate.moved.is_empty() {
        let rows = candidate.moved.iter().enumerate().map(|(index, moved)| {
            let number = |value: f64| {
                let source = format!("lda.json: candidates[{at}].moved[{index}]");
                Prose::default().number(words::signed(value, 3), source)
            };
            let change = moved.candidate - moved.unmitigated;
            vec![
                Prose::default().code(&moved.feature),
                number(moved.unmitigated),
                number(moved.candidate),
                words::signed(change, 3).into(),
            ]
        });
        blocks.push(Block::Table(Table {
            caption: "Coefficients that differ most from those of the unmitigated model of the run"
                .into(),
            head: ["Feature", "Unmitigated", "Model", "Change"]
                .map(String::from)
                .to_vec(),
            rows: rows.collect(),
            text_columns: Vec::new(),
        }));
    }
    blocks
}

/// Gains and losses of each group, in sentences.
fn changes_in_words(lda: &Lda, at: usize, candidate: &Candidate) -> Vec<Block> {
    let outcomes = candidate.groups.iter().enumerate();
    let mut items = Vec::new();
    for (index, outcome) in outcomes {
        let (Some(before), Some(after)) = (
            outcome.selection_rate.baseline,
            outcome.selection_rate.candidate,
        ) else {
            continue;
        };
        let source = format!("lda.json: candidates[{at}].groups[{index}]");
        let gained = outcome.gained.positive + outcome.gained.negative;
        let lost = outcome.lost.positive + outcome.lost.negative;
        items.push(
            Prose::default()
                .strong(label(outcome))
                .text(": the selection rate changes from ")
                .number(words::percent(before), source.clone())
                .text(" to ")
                .number(words::percent(after), source.clone())
                .text("; ")
                .number(words::people(gained), source.clone())
                .text(" people are selected by the model alone (")
                .number(words::people(outcome.gained.positive), source.clone())
                .text(format!(" of them with the label {}); ", lda.run.target))
                .number(words::people(lost), source.clone())
                .text(" people are selected by the baseline alone (")
                .number(words::people(outcome.lost.positive), source.clone())
                .text(" of them with this label)."),
        );
    }
    let intro = Prose::from(format!(
        "On the {} {} rows, model {} instead of the baseline would decide as follows.",
        grouped(lda.test.rows),
        lda.test.split.name(),
        candidate.model_id
    ));
    vec![Block::Text(intro), Block::List(items)]
}

fn label(outcome: &GroupOutcome) -> String {
    match (&outcome.attribute, &outcome.group) {
        (Some(attribute), Some(group)) => format!("{attribute} = {group}"),
        _ => "All rows".into(),
    }
}

/// Absolute rates by group: selections, and errors.
fn rates(lda: &Lda, at: usize, candidate: &Candidate) -> [Table; 2] {
    let confidence = words::percent(lda.test.confidence);
    let of_group = |index: usize| {
        let source = format!("lda.json: candidates[{at}].groups[{index}]");
        move |shown: String| Prose::default().number(shown, source.clone())
    };
    let both = |rate: &Both, number: &dyn Fn(String) -> Prose| {
        let interval = rate.interval.map_or_else(String::new, |ends| {
            format!(" {}", words::interval(ends, words::percent))
        });
        let candidate = format!("{}{interval}", words::percent_or_dash(rate.candidate));
        [
            number(words::percent_or_dash(rate.baseline)),
            number(candidate),
        ]
    };
    let selections = |(index, outcome): (usize, &GroupOutcome)| {
        let number = of_group(index);
        let mut row = vec![
            label(outcome).into(),
            number(words::people(outcome.count)),
            number(words::percent_or_dash(outcome.positive_rate)),
        ];
        row.extend(both(&outcome.selection_rate, &number));
        let ratio = |value: Option<f64>| value.map_or_else(|| "–".into(), |r| format!("{r:.2}"));
        match &outcome.adverse_impact_ratio {
            Some(ratios) => {
                row.extend([ratios.baseline, ratios.candidate].map(|r| number(ratio(r))));
            }
            None => row.extend(["–".into(), "–".into()]),
        }
        row.push(match &outcome.at_baseline_rate {
            Some(ranked) => number(ratio(ranked.adverse_impact_ratio)),
            None => "–".into(),
        });
        row
    };
    let errors = |(index, outcome): (usize, &GroupOutcome)| {
        let number = of_group(index);
        let rates = [
            &outcome.false_negative_rate,
            &outcome.false_positive_rate,
            &outcome.accuracy,
        ];
        let mut row = vec![label(outcome).into()];
        row.extend(rates.into_iter().flat_map(|rate| both(rate, &number)));
        row
    };
    let table = |caption: String, head: &[&str], rows: Vec<Vec<Prose>>| Table {
        caption: caption.into(),
        head: head.iter().map(|name| (*name).into()).collect(),
        rows,
        text_columns: Vec::new(),
    };
    let groups = || candidate.groups.iter().enumerate();
    [
        table(
            format!(
                "Selection rates by group, with {confidence} intervals; an adverse impact ratio below 0.80 is a \
                 common screening figure"
            ),
            &[
                "Group",
                "Rows",
                "Labeled positive",
                "Selected: baseline",
                "Selected: model",
                "Adverse impact ratio: baseline",
                "Adverse impact ratio: model",
                "Adverse impact ratio: model at the baseline's selection rate",
            ],
            groups().map(selections).collect(),
        ),
        table(
            format!("Errors by group, with {confidence} intervals"),
            &[
                "Group",
                "False negative rate: baseline",
                "False negative rate: model",
                "False positive rate: baseline",
                "False positive rate: model",
                "Accuracy: baseline",
                "Accuracy: model",
            ],
            groups().map(errors).collect(),
        ),
    ]
}

/// Decisions that would differ.
fn people(at: usize, candidate: &Candidate) -> Table {
    let head = [
        "Group",
        "Selected by the model alone",
        "labeled positive among them",
        "Selected by the baseline alone",
        "labeled positive among them",
        "Share decided differently",
    ];
    let row = |(index, outcome): (usize, &GroupOutcome)| {
        let source = format!("lda.json: candidates[{at}].groups[{index}]");
        let number = |value: f64| Prose::default().number(words::people(value), source.clone());
        let gained = outcome.gained.positive + outcome.gained.negative;
        let lost = outcome.lost.positive + outcome.lost.negative;
        let share = (outcome.count > 0.0).then(|| (gained + lost) / outcome.count);
        vec![
            label(outcome).into(),
            number(gained),
            number(outcome.gained.positive),
            number(lost),
            number(outcome.lost.positive),
            words::percent_or_dash(share).into(),
        ]
    };
    Table {
        caption: "Decisions that would differ, by recorded outcome".into(),
        head: head.map(String::from).to_vec(),
        rows: candidate.groups.iter().enumerate().map(row).collect(),
        text_columns: Vec::new(),
    }
}

/// The effect of leaving out each column.
fn columns(lda: &Lda) -> Vec<Block> {
    let effects = &lda.columns;
    let intro = Prose::from(format!(
        "A linear model that minimizes the log loss without regard to groups was fitted without each column. With \
         all columns, on the {} {} rows, it has an accuracy of ",
        grouped(effects.rows),
        effects.split.name()
    ))
    .number(words::percent_or_dash(effects.accuracy), "lda.json: columns.accuracy")
    .text(". Leaving a column out often changes little, because other columns carry the same information.");
    let mut head = vec![
        "Column left out".to_owned(),
        "Change of accuracy (percentage points)".into(),
    ];
    for measure in &lda.measures {
        head.push(format!(
            "Change of the {} (percentage points)",
            words::measure(&measure.name)
        ));
    }
    let row = |(at, column): (usize, &super::WithoutColumn)| {
        let source = || format!("lda.json: columns.columns[{at}]");
        let mut row = vec![Prose::default().code(&column.column)];
        row.push(match (column.accuracy_change, &column.reason) {
            (Some(change), _) => Prose::default().number(words::points(change), source()),
            (None, reason) => reason.clone().unwrap_or_else(|| "–".into()).into(),
        });
        for index in 0..lda.measures.len() {
            row.push(match column.changes.get(index) {
                Some(change) => Prose::default().number(words::points(*change), source()),
                None => "–".into(),
            });
        }
        row
    };
    let mut blocks = vec![
        Block::Text(intro),
        Block::Table(Table {
            caption: "Linear models without one column".into(),
            head,
            rows: effects.columns.iter().enumerate().map(row).collect(),
            text_columns: Vec::new(),
        }),
    ];
    if effects.not_tried > 0 {
        blocks.push(Block::Text(
            format!(
                "{} were not tried.",
                counted(effects.not_tried, "further column")
            )
            .into(),
        ));
    }
    blocks
}

/// Proven limits, estimated limits, and the lack of either.
fn limits(lda: &Lda) -> Vec<Block> {
    let limits = &lda.limits;
    let mut blocks = Vec::new();
    if !limits.proven.is_empty() {
        let items = limits.proven.iter().enumerate().map(|(at, proven)| {
            let source = || format!("lda.json: limits.proven[{at}]");
            Prose::from("No linear model on these columns has a ")
                .code(&proven.loss)
                .text(" below ")
                .number(format!("{:.6}", proven.loss_at_least), source())
                .text(" and a ")
                .code(&proven.objective)
                .text(" of at most ")
                .number(format!("{:.3e}", proven.objective_at_most), source())
                .text(", which is ")
                .number(words::percent(proven.share_of_unmitigated), source())
                .text(" of the unmitigated linear model's (optimality gap ")
                .number(format!("{:.0e}", proven.optimality_gap), source())
                .text(format!(", {} training rows).", grouped(proven.rows)))
        });
        blocks.push(Block::Text(
            "Proven, for linear models on the training rows:".into(),
        ));
        blocks.push(Block::List(items.collect()));
    }
    if let Some(why) = &limits.not_proven {
        blocks.push(Block::Text(
            format!("Nothing is proven for linear models: {why}.").into(),
        ));
    }
    if limits.estimated.is_empty() {
        blocks.push(Block::Text(
            "For models that are not linear, nothing is proven or estimated: the run has no learners.".into(),
        ));
    } else {
        let row = |(at, of): (usize, &super::Estimated)| {
            let source = format!("lda.json: limits.estimated[{at}]");
            let band = match of.band[..] {
                [low, high] => words::interval([low, high], words::percent),
                _ => "–".into(),
            };
            vec![
                Prose::from(words::measure(&of.measure)),
                Prose::default().number(words::percent(of.at_most), source.clone()),
                Prose::default().number(words::percent(of.least), source.clone()),
                Prose::default().number(band, source.clone()),
            ]
        };
        blocks.push(Block::Text(
            "Estimated, for all models on the same columns: the least error that any model could have, if the \
             probabilities of the learners were the true ones. The band covers sampling only; a model beyond the \
             estimate shows that the probabilities were wrong."
                .into(),
        ));
        blocks.push(Block::Table(Table {
            caption: "Estimated least error rates".into(),
            head: ["Measure", "At most", "Estimated least error", "Band"]
                .map(String::from)
                .to_vec(),
            rows: limits.estimated.iter().enumerate().map(row).collect(),
            text_columns: Vec::new(),
        }));
    }
    blocks
}

/// The families, solvers, candidates, seeds and fingerprints.
fn searched(lda: &Lda) -> Vec<Block> {
    let run = &lda.run;
    let source = |entry: &str| format!("lda.json: run.{entry}");
    let families = run.families.0.iter().map(|(name, n)| format!("{n} {name}"));
    let rows = run
        .rows
        .0
        .iter()
        .map(|(split, n)| format!("{} {split}", grouped(*n)));
    let mut items = vec![
        Prose::from("Models of the front by family: ")
            .number(families.collect::<Vec<_>>().join(", "), source("families")),
        Prose::from("Candidates that the solver ")
            .code(&run.solver)
            .text(" produced and that were judged: ")
            .number(grouped(run.candidates), source("candidates")),
        Prose::from("Objectives: ").code(run.objectives.join("; ")),
        Prose::from("Rows: ").number(rows.collect::<Vec<_>>().join(", "), source("rows")),
        Prose::from("Random seed: ").number(run.seed.to_string(), source("seed")),
        Prose::from("SHA-256 of the encoded rows: ").code(&run.fingerprint),
        Prose::from("SHA-256 of the front: ").code(&run.front_sha256),
        Prose::from("SHA-256 of the baseline's decisions: ").code(&lda.baseline.sha256),
        Prose::from("SHA-256 of labels and weights of the rows that tested candidates: ")
            .code(&lda.test.fingerprint),
        format!("Program: fairfront {}", lda.program).into(),
    ];
    if !run.learners.is_empty() {
        items.insert(1, format!("Learners: {}", run.learners.join("; ")).into());
    }
    vec![Block::List(items)]
}

fn method(lda: &Lda) -> Vec<Block> {
    let test = &lda.test;
    let mut blocks = vec![Block::Text(
        Prose::from(
            "Baseline and candidates decide about the same rows, so that their rates are compared in paired score \
             tests. A candidate is a less discriminatory alternative if its performance is not worse by the \
             tolerance or more, and, for every ordered pair of groups, its difference is smaller than that of the \
             baseline's worst pair, which was fixed on the ",
        )
        .text(test.order_split.name())
        .text(" rows. Its p-value is the largest over all of these. The same rows determine the order of the tests: \
             candidates that no other one beats in performance, differences and p-value, smallest p-value first. They are \
             tested at a significance level of ")
        .number(readable(test.level), "lda.json: test.level")
        .text(" until the first fails, so that all alternatives hold together. This is use ")
        .number(test.number.to_string(), "lda.json: test.use")
        .text(" of these rows; each further search halves the level."),
    )];
    blocks.push(Block::Text(
        "\"Redraws better in all\" is the share of 1,000 redraws of the rows in which the candidate performs better \
         than the baseline and all differences are smaller; \"within tolerance\" allows the performance to be \
         worse by the tolerance."
            .into(),
    ));
    blocks.extend(caveats(lda));
    blocks
}

/// Limits of the search itself.
fn caveats(lda: &Lda) -> Vec<Block> {
    let unseen = match lda.baseline.confirmed_unseen {
        true => {
            "The user confirmed that the baseline was not trained on the rows that test it; fairfront cannot check this."
        }
        false => {
            "The user did not confirm that the baseline was not trained on the rows that test it."
        }
    };
    let mut items: Vec<Prose> = vec![
        unseen.into(),
        "All figures are screening figures about decisions on past rows. They are not legal conclusions: whether an \
         alternative serves the same purpose is a judgment that numbers do not make."
            .into(),
        "Labels are recorded outcomes. If they are biased or exist only for people selected before, all \
         error rates inherit that."
            .into(),
    ];
    if lda
        .measures
        .iter()
        .any(|measure| !measure.left_out.is_empty())
    {
        let all: Vec<&str> = lda
            .measures
            .iter()
            .flat_map(|measure| measure.left_out.iter().map(String::as_str))
            .collect();
        items.push(format!("Groups that were too small to compare: {}.", all.join(", ")).into());
    }
    if lda.baseline.agrees_in.is_empty() && lda.baseline.kind != "model" {
        items.push(
            "The scores of the baseline were matched with the rows by position, and no column of both files could \
             confirm it."
                .into(),
        );
    }
    vec![Block::List(items)]
}
