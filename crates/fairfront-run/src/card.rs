//! Model cards: the intended use of a chosen model, its data, its measures with intervals, its limits and its
//! certificates, from the files of a run.

use fairfront_core::{Target, grouped, readable};
use fairfront_data::{Part, Severity, TargetRule};
use fairfront_model::{ModelId, Stated};
use fairfront_report::{Block, Document, Prose, Table};
use serde::{Deserialize, Serialize};

use crate::meaning::{is_interval, kind};
use crate::{Error, MeasureMeaning, Run, Unit};

/// The model of a card, and the statements of its author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardRequest {
    /// The model.
    pub model_id: ModelId,
    /// Intended uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intended_use: Vec<String>,
    /// Uses that are out of scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_scope: Vec<String>,
    /// The contact for questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
}

/// The kind of a card, in the origin of a document.
pub(crate) const CARD: &str = "card";

/// The model card of a model of a run, which includes the run's log of certificates.
pub fn model_card(run: &Run, request: &CardRequest) -> Result<Document, Error> {
    let index = request.model_id.index();
    if index >= run.front.len() {
        return Err(Error::usage(format!(
            "model {} is not on the front, which has {} models; choose a number from 1 to {}",
            request.model_id,
            run.front.len(),
            run.front.len()
        )));
    }
    let card = Card {
        run,
        index,
        id: request.model_id,
    };
    let mut blocks = vec![Block::Section("Model details".into())];
    blocks.push(Block::List(card.details()));
    blocks.push(Block::Section("Intended use".into()));
    blocks.extend(uses(request));
    blocks.push(Block::Section("Data".into()));
    blocks.extend(card.data());
    blocks.push(Block::Section("Measures".into()));
    blocks.extend(card.measures());
    blocks.push(Block::Section("Certificates".into()));
    blocks.extend(card.certificates());
    blocks.push(Block::Section("Limits".into()));
    blocks.extend(card.limits());
    let mut facts: Vec<(String, Prose)> = vec![
        (
            "Model".into(),
            format!("model {} of {}", request.model_id, run.front.len()).into(),
        ),
        ("Data".into(), Prose::default().code(&run.info.source)),
        ("Predicts".into(), Prose::default().code(card.target())),
    ];
    if let Some(contact) = &request.contact {
        facts.push(("Contact".into(), contact.clone().into()));
    }
    Ok(Document {
        title: "Model card".into(),
        facts,
        blocks,
        origin: Some(crate::document::origin(CARD, request)),
    })
}

/// The statements of the author about the use of the model.
fn uses(request: &CardRequest) -> Vec<Block> {
    let list =
        |texts: &[String]| Block::List(texts.iter().map(|text| text.clone().into()).collect());
    let mut blocks = Vec::new();
    match request.intended_use.is_empty() {
        true => blocks.push(Block::Callout(
            "The intended use is not stated. A model should not be used before it is.".into(),
        )),
        false => blocks.push(list(&request.intended_use)),
    }
    if !request.out_of_scope.is_empty() {
        blocks.push(Block::Part("Out of scope".into()));
        blocks.push(list(&request.out_of_scope));
    }
    blocks
}

struct Card<'a> {
    run: &'a Run,
    index: usize,
    id: ModelId,
}

impl Card<'_> {
    fn target(&self) -> String {
        let rule = self.run.encoding.target.as_ref();
        rule.map_or_else(|| "the target".into(), TargetRule::condition)
    }

    fn details(&self) -> Vec<Prose> {
        let info = &self.run.info;
        let family = self.run.front.family(self.index);
        let mut items: Vec<Prose> = vec![
            Prose::from("Family: ").number(
                family.name(),
                format!("front.parquet: model {}, family", self.id),
            ),
            Prose::from("Number of parameters: ").number(
                grouped(self.run.front.params[self.index].len()),
                format!("front.parquet: model {}, params", self.id),
            ),
            Prose::from("Objectives: ").code(info.definitions.join("; ")),
            Prose::from("Solver: ").code(info.solver.name()),
            Prose::from("Random seed: ").number(info.spec.seed.to_string(), "run.json: spec.seed"),
            Prose::from("Models of the front: ")
                .number(grouped(info.models), "run.json: models")
                .text("; candidates judged: ")
                .number(
                    grouped(info.judged.candidates),
                    "run.json: judged.candidates",
                ),
            format!("Program: fairfront {}", info.program).into(),
        ];
        for learner in &info.learners {
            items.push(format!("Learner: {} for {}", learner.kind, learner.predicts).into());
        }
        items.push(Prose::from("SHA-256 of the encoded rows: ").code(&info.fingerprint));
        items.push(Prose::from("SHA-256 of the front: ").code(&info.front_sha256));
        items
    }

    fn data(&self) -> Vec<Block> {
        let info = &self.run.info;
        let rows = info.rows.0.iter().map(|(split, n)| {
            vec![
                split.clone().into(),
                Prose::default().number(grouped(*n), format!("run.json: rows.{split}")),
            ]
        });
        let mut blocks = vec![Block::Table(Table {
            caption: "Rows by split".into(),
            head: vec!["Split".into(), "Rows".into()],
            rows: rows.collect(),
            text_columns: Vec::new(),
        })];
        if let Some(dropped) = &info.dropped {
            let mut line = Prose::default()
                .number(grouped(dropped.read), "run.json: dropped.read")
                .text(" rows were read, of which ")
                .number(grouped(dropped.used), "run.json: dropped.used")
                .text(" are used");
            for (at, reason) in dropped.reasons.iter().enumerate() {
                line = line.text(format!("; {}: ", reason.reason)).number(
                    grouped(reason.rows),
                    format!("run.json: dropped.reasons[{at}]"),
                );
            }
            blocks.push(Block::Text(line.text(".")));
        }
        let is_binary = info.meaning.target.is_binary();
        let mut head = vec!["Group".to_owned(), "Training rows".into()];
        if is_binary {
            head.push("Labeled positive".into());
        }
        head.push("Compared".into());
        for (attribute, groups) in &info.groups.0 {
            let rows = groups.0.iter().map(|(group, of)| {
                let source = format!("run.json: groups.{attribute}.{group}");
                let number = |shown: String| Prose::default().number(shown, source.clone());
                let mut row = vec![group.clone().into(), number(grouped(of.rows))];
                if is_binary {
                    let share = of.positives as f64 / of.rows.max(1) as f64;
                    row.push(number(format!("{:.1}%", 100.0 * share)));
                }
                row.push(match (of.compared.everywhere(), of.compared.all) {
                    (true, _) => "yes".into(),
                    (false, true) => "partly: too few rows of a label".into(),
                    (false, false) => "no: too few rows".into(),
                });
                row
            });
            blocks.push(Block::Table(Table {
                caption: format!("Groups of {attribute}").into(),
                head: head.clone(),
                rows: rows.collect(),
                text_columns: vec![head.len() - 1],
            }));
        }
        let encoding = &self.run.encoding;
        let numeric = encoding.numeric.iter().map(|rule| rule.column.as_str());
        let categorical = encoding.categorical.iter().map(|rule| rule.column.as_str());
        let columns: Vec<&str> = numeric.chain(categorical).collect();
        blocks.push(Block::Text(
            Prose::from("Columns that the model may use: ").code(columns.join(", ")),
        ));
        blocks
    }

    /// The split whose measures are shown: test rows, or validation or training rows without them.
    fn split(&self) -> Part {
        let has = |part: &Part| self.names(*part).next().is_some();
        let parts = [Part::Test, Part::Validation, Part::Train];
        parts.into_iter().find(has).unwrap_or(Part::Train)
    }

    /// The measures of a split, without the ends of intervals and without objectives.
    fn names(&self, part: Part) -> impl Iterator<Item = &str> {
        let prefix = format!("{}.", part.name());
        let names = self.run.front.names.iter();
        let bare = names.filter_map(move |name| name.strip_prefix(prefix.as_str()));
        bare.filter(|name| {
            !name.starts_with("objective.")
                && self.run.info.meaning.measure(name).is_some()
                && !is_interval(name)
        })
    }

    fn value(&self, column: &str) -> Option<f64> {
        self.run.front.column(column)?[self.index]
    }

    fn shown(&self, name: &str, value: f64) -> String {
        let meaning = &self.run.info.meaning;
        let unit = meaning
            .measure(name)
            .map_or(Unit::Number, |m: &MeasureMeaning| m.unit);
        match unit {
            Unit::Share | Unit::Difference => format!("{:.1}%", 100.0 * value),
            Unit::Ratio => format!("{value:.2}"),
            Unit::Count => match value.fract() == 0.0 {
                true => grouped(value as usize),
                false => readable(value),
            },
            Unit::InTarget => meaning.in_target(value),
            Unit::Loss | Unit::Number => format!("{value:.4}"),
        }
    }

    /// A measure with its interval and its source.
    fn entry(&self, part: Part, name: &str) -> Prose {
        let column = format!("{}.{name}", part.name());
        let Some(value) = self.value(&column) else {
            return "–".into();
        };
        let ends = [".low", ".high"].map(|end| self.value(&format!("{column}{end}")));
        let shown = match ends {
            [Some(low), Some(high)] => format!(
                "{} [{}, {}]",
                self.shown(name, value),
                self.shown(name, low),
                self.shown(name, high)
            ),
            _ => self.shown(name, value),
        };
        Prose::default().number(shown, format!("front.parquet: model {}, {column}", self.id))
    }

    fn measures(&self) -> Vec<Block> {
        let part = self.split();
        let info = &self.run.info;
        let rows = info.rows.get(part.name()).copied().unwrap_or(0);
        let confidence = format!("{:.0}%", 100.0 * info.intervals.confidence);
        let mut blocks = vec![Block::Text(
            format!(
                "Measured on {} {} rows, with {confidence} intervals if they exist.",
                grouped(rows),
                part.name()
            )
            .into(),
        )];
        let is_of_group = |name: &str| name.split_once('(').is_some_and(|(_, of)| of.contains('='));
        let own: Vec<&str> = self.names(part).filter(|name| !is_of_group(name)).collect();
        let table = own.iter().map(|name| {
            let unmitigated = format!("{}.{name}", part.name());
            let value = info.unmitigated.values.get(&unmitigated).copied().flatten();
            let description = info
                .meaning
                .measure(name)
                .map_or("", |m| m.description.as_str());
            vec![
                Prose::default().code(*name),
                self.entry(part, name),
                match value {
                    Some(value) => Prose::default().number(
                        self.shown(name, value),
                        format!("run.json: unmitigated.values.{unmitigated}"),
                    ),
                    None => "–".into(),
                },
                description.into(),
            ]
        });
        blocks.push(Block::Table(Table {
            caption: "Overall, next to the unmitigated model".into(),
            head: ["Measure", "This model", "Unmitigated", "Meaning"]
                .map(String::from)
                .to_vec(),
            rows: table.collect(),
            text_columns: vec![3],
        }));
        for (attribute, groups) in &info.groups.0 {
            // The columns of the first group, in their order.
            let of = |group: &str| format!("({attribute}={group})");
            let Some((first, _)) = groups.0.first() else {
                continue;
            };
            let kinds: Vec<&str> = self
                .names(part)
                .filter(|name| name.ends_with(&of(first)))
                .map(kind)
                .filter(|kind| !kind.contains("positives") && !kind.contains("negatives"))
                .collect();
            let label = |kind: &&str| {
                let meaning = info.meaning.measure(kind);
                meaning.map_or_else(|| (*kind).to_owned(), |m| m.label.clone())
            };
            let head = std::iter::once("Group".to_owned()).chain(kinds.iter().map(label));
            let rows = groups.0.iter().map(|(group, _)| {
                let entries = kinds
                    .iter()
                    .map(|kind| self.entry(part, &format!("{kind}{}", of(group))));
                std::iter::once(group.clone().into())
                    .chain(entries)
                    .collect()
            });
            blocks.push(Block::Table(Table {
                caption: format!("By {attribute}").into(),
                head: head.collect(),
                rows: rows.collect(),
                text_columns: Vec::new(),
            }));
        }
        blocks
    }

    /// The logged tests that the model passed.
    fn certificates(&self) -> Vec<Block> {
        let uses = self.run.uses.iter().enumerate();
        let own = uses.filter(|(_, used)| {
            let certificate = &used.certificate;
            certificate.front_sha256 == self.run.info.front_sha256
                && certificate.certified.contains(&self.id)
        });
        let items: Vec<Prose> = own
            .map(|(line, used)| {
                let certificate = &used.certificate;
                let source = format!("certificates.jsonl: line {}", line + 1);
                let stated = match certificate.stated {
                    Stated::Before => "stated before results on these rows were shown",
                    Stated::AfterLooking => "stated after results on these rows were shown",
                };
                Prose::default()
                    .strong(certificate.requirements.join(" and "))
                    .text(": certified at ")
                    .number(
                        format!("{}%", readable(100.0 * certificate.confidence)),
                        source.clone(),
                    )
                    .text(" confidence on ")
                    .number(grouped(certificate.rows.count as usize), source)
                    .text(format!(
                        " {} rows, {stated}.",
                        certificate.rows.split.name()
                    ))
            })
            .collect();
        match items.is_empty() {
            true => vec![Block::Text(
                "No requirement is certified for this model.".into(),
            )],
            false => vec![Block::List(items)],
        }
    }

    fn limits(&self) -> Vec<Block> {
        let info = &self.run.info;
        let warnings = info.diagnostics.iter().enumerate();
        let warnings = warnings.filter(|(_, d)| d.severity == Severity::Warning);
        let mut items: Vec<Prose> = warnings
            .map(|(_, diagnostic)| {
                Prose::from("Warning: ")
                    .text(diagnostic.message.to_string())
                    .text(".")
            })
            .collect();
        items.push(
            "All measures describe past rows like those of the table. On other people they can differ by more than \
             the intervals."
                .into(),
        );
        items.push(
            "Labels are recorded outcomes. If they are biased, all error rates inherit that."
                .into(),
        );
        items.push(match info.meaning.target {
            Target::Number(_) => {
                "Differences between groups are screening figures, not legal conclusions.".into()
            }
            _ => {
                "Rates, differences and ratios are screening figures, not legal conclusions.".into()
            }
        });
        if info.judged.measures.is_empty() {
            items.push("The front was judged by its objectives, which only stand in for the measures above.".into());
        }
        let small = info.groups.0.iter().flat_map(|(attribute, groups)| {
            let left_out = groups.0.iter().filter(|(_, of)| !of.compared.all);
            left_out.map(move |(group, _)| format!("{attribute} = {group}"))
        });
        let small: Vec<String> = small.collect();
        if !small.is_empty() {
            items.push(format!("Too small to be compared: {}.", small.join(", ")).into());
        }
        vec![Block::List(items)]
    }
}
