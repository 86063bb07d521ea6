//! Adult as a stream: do the successive fronts approach the one of all rows?

use fairfront_core::{Dataset, Points, Problem};
use fairfront_data::{Encoding, Prepared, RowFacts, embed};
use fairfront_pareto::{Values, hypervolume};
use fairfront_run::{Error, Keep, Live, LiveOptions};
use fairfront_solve::{Observer, Trace};
use serde::{Deserialize, Serialize};

use crate::clock::thread_seconds;
use crate::finding::{Draft, Sheet, Verdict};
use crate::front::problem_on;
use crate::job::{ADULT_GENDER, Job, Kind, Setup, Variant};
use crate::panel::{Fronts, front_panels};
use crate::stat::number;
use crate::work::Results;
use crate::{Effort, Experiment};

/// Fronts of a stream, all judged on the rows of the whole data set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Streamed {
    /// Rows that had arrived.
    pub(crate) rows: Vec<usize>,
    /// The front after each batch: its objectives on all rows, point by point.
    pub(crate) fronts: Vec<Vec<f64>>,
    /// CPU seconds of each batch.
    pub(crate) cpu_seconds: Vec<f64>,
    /// The front that the same solver finds on all rows.
    pub(crate) last: Vec<f64>,
    /// CPU seconds of that.
    pub(crate) last_cpu_seconds: f64,
    /// The exact front of all rows.
    pub(crate) exact: Vec<f64>,
    /// Rows of the whole data set.
    pub(crate) all_rows: usize,
    /// The loss where all parameters are 0.
    pub(crate) loss_at_zero: f64,
}

/// Feeds the first rows of a data set to a front in batches, and fits one on all of them.
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
        keep: Keep::All,
        names: Vec::new(),
    })?;
    let (mut found, mut arrived, mut cpu_seconds) = (Vec::new(), Vec::new(), Vec::new());
    for batch in prepared.rows.chunks(rows).take(batches) {
        let start = thread_seconds();
        let batch: Vec<usize> = batch.iter().map(|row| *row as usize).collect();
        let before = arrived.last().copied().unwrap_or(0);
        live.update(prepared.table.select(&batch), observer)?;
        let Some((_, front, encoding)) = live.run() else {
            let message = "the first batch is too small for a front";
            return Err(Error::Data(message.into()));
        };
        cpu_seconds.push(thread_seconds() - start);
        arrived.push(before + batch.len());
        found.push((front.params, encoding));
    }
    let Some((_, encoding)) = found.last() else {
        return Err(Error::Data("there are no rows".into()));
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
    let [choice, ..] = request.methods.as_slice() else {
        return Err(Error::Usage("name a solver".into()));
    };
    let last = choice.method.solve(&problem, observer)?.front.values;
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

/// All rows of a table under an encoding.
fn all_rows(encoding: &Encoding, prepared: &Prepared) -> Result<Dataset, Error> {
    let label = |positive: &bool| if *positive { 1.0 } else { -1.0 };
    let facts = RowFacts {
        labels: prepared.labels.iter().map(label).collect(),
        groups: prepared.groups.clone(),
        weights: prepared.weights.clone(),
    };
    let (rows, _) = encoding.encode(&prepared.table, &prepared.rows, &facts)?;
    Ok(rows)
}

const PF_SMG: &str = "PF-SMG, paper";
const EXACT: &str = "exact, warm";
const VARIANTS: [(Variant, &str); 2] = [(Variant::PfSmgPaper, PF_SMG), (Variant::Ours, EXACT)];
const ROWS: usize = 2_000;

fn job(variant: Variant, effort: Effort) -> Job {
    let mut job = ADULT_GENDER.fit(0, variant, effort);
    job.name = format!("streaming/{}", variant.name());
    job.setup.all_rows = true;
    job.kind = Kind::Stream {
        batches: effort.batches(),
        rows: ROWS,
    };
    job
}

pub(crate) fn jobs(effort: Effort) -> Vec<Job> {
    VARIANTS
        .iter()
        .map(|(variant, _)| job(*variant, effort))
        .collect()
}

pub(crate) fn find(effort: Effort, results: &Results) -> Result<Draft, Error> {
    let mut draft = Draft::new(
        Experiment::Streaming,
        "Adult by gender in batches of 2,000 rows: the first batch makes a front, each later one updates it from a \
         selection of itself; the encoding is that of the first batch. All fronts are judged on all 45,222 rows. Shares \
         are of the hypervolume of the exact front of all rows, up to the loss at x = 0 and 1.1 times the largest f2 of \
         that front.",
    );
    let mut sheet = Sheet::new(
        "volumes",
        "Fronts after each batch, judged on all rows.",
        &["solver", "rows", "points", "CPU s", "hypervolume"],
    );
    for (variant, name) in VARIANTS {
        let streamed = results.stream(&job(variant, effort))?;
        let largest = streamed
            .exact
            .iter()
            .skip(1)
            .step_by(2)
            .copied()
            .fold(0.0, f64::max);
        let reference = [streamed.loss_at_zero, 1.1 * largest];
        let volume = |front: &[f64]| -> Result<f64, Error> {
            Ok(hypervolume(Values::new(front, 2)?, &reference)?)
        };
        let exact = volume(&streamed.exact)?;
        let shares = streamed
            .fronts
            .iter()
            .map(|front| Ok(volume(front)? / exact));
        let shares: Vec<f64> = shares.collect::<Result<_, Error>>()?;
        let last = volume(&streamed.last)? / exact;
        let numbers = streamed
            .rows
            .iter()
            .zip(&streamed.fronts)
            .zip(&streamed.cpu_seconds)
            .zip(&shares);
        for (((rows, front), seconds), share) in numbers {
            sheet.row([
                name.into(),
                rows.to_string(),
                (front.len() / 2).to_string(),
                number(*seconds, 2),
                format!("{} %", number(100.0 * share, 2)),
            ]);
        }
        sheet.row([
            name.into(),
            format!("{}, from nothing", streamed.all_rows),
            (streamed.last.len() / 2).to_string(),
            number(streamed.last_cpu_seconds, 2),
            format!("{} %", number(100.0 * last, 2)),
        ]);
        let (first, end) = (shares[0], shares[shares.len() - 1]);
        let falls = shares
            .windows(2)
            .map(|pair| pair[0] - pair[1])
            .fold(0.0, f64::max);
        draft.claim(
            &format!("The successive fronts approach the one of the whole data set ({name})."),
            format!(
                "{} % of the exact hypervolume after the first batch, {} % after {} rows, {} % for a fit on all rows; the \
                 largest step back is {} points",
                number(100.0 * first, 2),
                number(100.0 * end, 2),
                streamed.rows[streamed.rows.len() - 1],
                number(100.0 * last, 2),
                number(100.0 * falls, 2)
            ),
            Verdict::of(
                end > first && falls < 0.005 && end > last - 0.01,
                end > first,
            ),
            "",
        );
        let panels = streamed
            .rows
            .iter()
            .zip(&streamed.fronts)
            .map(|(rows, front)| Fronts {
                title: format!("{rows} samples"),
                series: vec![
                    ("front of the stream", front.clone()),
                    ("exact front of all rows", streamed.exact.clone()),
                ],
            });
        let panels: Vec<Fronts> = panels.collect();
        let title = format!("Adult by gender as a stream ({name}), judged on all rows");
        let svg = front_panels(
            &title,
            ["f1, log loss", "f2, disparate impact by sex"],
            &panels,
        );
        draft.figure(
            &format!("streaming-{}", variant.name()),
            format!("{title}."),
            svg,
        );
    }
    draft.finding.sheets.push(sheet);
    Ok(draft)
}
