//! Adult as a stream: do the successive fronts approach the front of all rows?

use fairfront_core::{Dataset, Points, Problem, counted};
use fairfront_data::{Encoding, Prepared, RowFacts, embed};
use fairfront_run::{Error, Keep, Run};
use fairfront_solve::{Observer, Solver, Trace};
use fairfront_stream::{Live, LiveOptions};
use serde::{Deserialize, Serialize};

use crate::clock::thread_seconds;
use crate::finding::{Draft, Sheet, Verdict};
use crate::front::{problem_on, volume};
use crate::job::{ADULT_GENDER, Job, Kind, Setup, Variant};
use crate::panel::{Fronts, front_panels};
use crate::stat::number;
use crate::work::Results;
use crate::{Effort, Experiment};

/// Fronts of a stream, evaluated on the rows of the whole data set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Streamed {
    /// Rows that had arrived.
    pub(crate) rows: Vec<usize>,
    /// The front after each batch: its objectives on all rows, model by model.
    pub(crate) fronts: Vec<Vec<f64>>,
    /// CPU seconds of each batch.
    pub(crate) cpu_seconds: Vec<f64>,
    /// The front that the same solver computes on all rows.
    pub(crate) last: Vec<f64>,
    /// CPU seconds of that front.
    pub(crate) last_cpu_seconds: f64,
    /// The exact front of all rows.
    pub(crate) exact: Vec<f64>,
    /// Rows of the whole data set.
    pub(crate) all_rows: usize,
    /// The loss if all parameters are 0.
    pub(crate) loss_at_zero: f64,
}

/// Updates a front with the first rows of a data set in batches, and fits another front on all rows.
pub(crate) fn stream(
    setup: &Setup,
    prepared: &Prepared,
    batches: usize,
    rows: usize,
    observer: &mut dyn Observer,
) -> Result<Streamed, Error> {
    let spec = prepared.spec.clone();
    let request = setup.request(&spec)?;
    let mut live = Live::begin(LiveOptions {
        spec,
        request: request.clone(),
        objectives_of_number: Vec::new(),
        keep: Keep::All,
        names: Vec::new(),
    })?;
    let (mut found, mut arrived, mut cpu_seconds) = (Vec::new(), Vec::new(), Vec::new());
    for batch in prepared.rows.chunks(rows).take(batches) {
        let start = thread_seconds();
        let batch: Vec<usize> = batch.iter().map(|row| *row as usize).collect();
        let before = arrived.last().copied().unwrap_or(0);
        live.update(prepared.table.select(&batch), observer)?;
        let Some(Run {
            front, encoding, ..
        }) = live.run()
        else {
            let message = "the first batch is too small for a front";
            return Err(Error::data(message));
        };
        cpu_seconds.push(thread_seconds() - start);
        arrived.push(before + batch.len());
        found.push((front.params, encoding));
    }
    let Some((_, encoding)) = found.last() else {
        return Err(Error::data("the data set has no rows"));
    };
    let all = all_rows(encoding, prepared)?;
    let problem = problem_on(&all, &request.objectives)?;
    let fronts = found.iter().map(|(params, own)| {
        let (old, new) = (own.schema(), encoding.schema());
        let mut points = Points::new(problem.n_params());
        let params = params.iter().map(|point| embed(&old, &new, point));
        params.for_each(|point| points.push(&point));
        Ok(problem.values(&points)?)
    });
    let fronts = fronts.collect::<Result<_, Error>>()?;
    let start = thread_seconds();
    let [choice, ..] = request.solvers.as_slice() else {
        return Err(Error::usage("the job has no solver; choose one"));
    };
    let last = choice.solver.solve(&problem, observer)?.front.values;
    let last_cpu_seconds = thread_seconds() - start;
    let n = problem.n_params();
    Ok(Streamed {
        rows: arrived,
        fronts,
        cpu_seconds,
        last,
        last_cpu_seconds,
        exact: Trace::default().solve(&problem, observer)?.front.values,
        all_rows: prepared.n_rows(),
        loss_at_zero: problem.values(&Points::from_vec(n, vec![0.0; n]))?[0],
    })
}

/// All rows of a table in an encoding.
fn all_rows(encoding: &Encoding, prepared: &Prepared) -> Result<Dataset, Error> {
    let facts = RowFacts {
        labels: prepared.labels.clone(),
        groups: prepared.groups.clone(),
        weights: prepared.weights.clone(),
    };
    let (rows, _) = encoding.encode(&prepared.table, &prepared.rows, &facts)?;
    Ok(rows)
}

const VARIANTS: [Variant; 2] = [Variant::PfSmgPaper, Variant::Ours];
const ROWS: usize = 2_000;

fn job(variant: Variant, effort: Effort) -> Job {
    let mut job = ADULT_GENDER.fit(0, variant, effort);
    job.name = format!("streaming/{}", variant.name());
    job.setup.all_rows = true;
    if variant == Variant::Ours {
        // The hypervolume shares refer to the exact front with its default number of models.
        job.setup.ask.models = None;
    }
    job.kind = Kind::Stream {
        batches: effort.batches(),
        rows: ROWS,
    };
    job
}

pub(crate) fn jobs(effort: Effort) -> Vec<Job> {
    VARIANTS.map(|variant| job(variant, effort)).to_vec()
}

/// The fronts of a stream, with their shares of the hypervolume of the exact front of all rows.
struct Judged {
    streamed: Streamed,
    shares: Vec<f64>,
    /// The share of a fit on all rows.
    last: f64,
    /// The largest drop between batches.
    falls: f64,
}

impl Judged {
    fn of(streamed: Streamed) -> Result<Self, Error> {
        let largest = streamed.exact.iter().skip(1).step_by(2);
        let largest = largest.copied().fold(0.0, f64::max);
        let reference = [streamed.loss_at_zero, 1.1 * largest];
        let exact = volume(&streamed.exact, &reference)?;
        let share = |front: &Vec<f64>| Ok(volume(front, &reference)? / exact);
        let shares: Vec<f64> = (streamed.fronts.iter().map(share)).collect::<Result<_, Error>>()?;
        let steps = shares.windows(2).map(|pair| pair[0] - pair[1]);
        Ok(Self {
            falls: steps.fold(0.0, f64::max),
            last: share(&streamed.last)?,
            shares,
            streamed,
        })
    }

    fn approaches(&self) -> Option<bool> {
        let (first, end) = (self.shares.first()?, self.shares.last()?);
        // A very small front of all rows is not a basis for a verdict.
        (self.last > 0.5).then(|| end > first && self.falls < 0.005 && *end > self.last - 0.02)
    }

    fn text(&self) -> String {
        let percent = |share: Option<&f64>| share.map_or(f64::NAN, |share| 100.0 * share);
        format!(
            "{}% of the exact hypervolume after the first batch, {}% after {}, {}% for a fit on all rows; the largest drop is \
             {} percentage points",
            number(percent(self.shares.first()), 2),
            number(percent(self.shares.last()), 2),
            counted(self.streamed.rows.last().copied().unwrap_or(0), "row"),
            number(100.0 * self.last, 2),
            number(100.0 * self.falls, 2)
        )
    }

    fn add_rows(&self, sheet: &mut Sheet, name: &str) {
        let Streamed {
            rows,
            fronts,
            cpu_seconds,
            ..
        } = &self.streamed;
        let mut row = |rows: String, points: usize, seconds: f64, share: f64| {
            sheet.row([
                name.into(),
                rows,
                points.to_string(),
                number(seconds, 2),
                format!("{}%", number(100.0 * share, 2)),
            ]);
        };
        for (i, n) in rows.iter().enumerate() {
            row(
                n.to_string(),
                fronts[i].len() / 2,
                cpu_seconds[i],
                self.shares[i],
            );
        }
        let Streamed {
            all_rows,
            last,
            last_cpu_seconds,
            ..
        } = &self.streamed;
        let from_scratch = format!("{all_rows}, from scratch");
        row(from_scratch, last.len() / 2, *last_cpu_seconds, self.last);
    }
}

pub(crate) fn find(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let mut draft = Draft::new(
        Experiment::Streaming,
        "Adult by gender arrives in batches of 2,000 rows, in the order of the published file. The first batch gives a \
         front; each later batch updates it, starting from a selection of its models. The encoding is that of the first \
         batch, extended by the categories of later batches. All fronts are evaluated on all 45,222 rows in this encoding. \
         Hypervolumes are given as shares of that of the exact front of all rows, up to the loss at x = 0 and 1.1 times the \
         largest f2 of that front. *Ours* updates the exact front with each batch.",
    );
    let mut sheet = Sheet::new(
        "volumes",
        "Fronts after each batch, evaluated on all rows.",
        &["solver", "rows", "models", "CPU s", "hypervolume"],
    );
    let mut judged = Vec::new();
    for variant in VARIANTS {
        let found = Judged::of(results.stream(&job(variant, effort))?)?;
        found.add_rows(&mut sheet, variant.label());
        let streamed = &found.streamed;
        let panels = streamed.rows.iter().zip(&streamed.fronts);
        let panels = panels.map(|(rows, front)| Fronts {
            title: counted(*rows, "row"),
            series: vec![
                ("front of the stream", front.clone()),
                ("same solver, all rows at once", streamed.last.clone()),
                ("exact front of all rows", streamed.exact.clone()),
            ],
        });
        let panels: Vec<Fronts> = panels.collect();
        let title = format!(
            "Adult by gender as a stream ({}), evaluated on all rows",
            variant.label()
        );
        let svg = front_panels(&title, ["f1, log loss", "f2, covariance with sex"], &panels);
        draft.figure(
            &format!("streaming-{}", variant.name()),
            format!("{title}."),
            svg,
        );
        judged.push(found);
    }
    draft.finding.sheets.push(sheet);
    let (paper, ours) = (&judged[0], &judged[1]);
    draft.claim(
        (
            "The successive fronts approach the front of the whole data set.",
            "the hypervolume share rises from the first to the last batch, never falls by 0.5 percentage points, and ends less than \
             2 percentage points below that of a fit on all rows",
        ),
        format!("PF-SMG: {}. Ours: {}", paper.text(), ours.text()),
        Verdict::both(paper.approaches(), ours.approaches()),
        "",
    );
    Ok(draft)
}
