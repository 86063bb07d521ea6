//! Arguments of the command line and TOML files.

use std::ffi::OsString;

use fairfront_cli::settings;

use crate::mutate::Form;
use crate::{Part, Taken, Target};

const WORDS: &[&str] = &[
    "target",
    "positive",
    "sensitive",
    "bins",
    "min-group",
    "pool-groups",
    "drop",
    "feature",
    "weight",
    "type",
    "categorical",
    "date-parts",
    "merge",
    "scale",
    "pool-rare",
    "missing",
    "missing-sensitive",
    "missing-value",
    "split",
    "balance",
    "seed",
    "separator",
    "decimal",
    "columns",
    "fit",
    "objective",
    "solver",
    "preset",
    "models",
    "set",
    "polish",
    "front-in",
    "require",
    "confidence",
    "exact",
    "best",
    "penalty",
    "max-seconds",
    "checkpoint-every",
    "files",
    "auto",
    "none",
    "trace",
    "column:part",
    "60/10/30",
    "50/10/20/20",
    "demo(rows=5)",
    "numeric",
    "date-dmy",
    "keep",
    "loss-only",
    "min-max",
    "true",
    "tab",
];

/// A TOML file: written again, it has the same meaning.
pub(super) struct Toml;

impl Target for Toml {
    fn name(&self) -> &'static str {
        "toml"
    }
    fn parts(&self) -> Vec<Part> {
        let full = "files = [\"loans.csv\"]\ntarget = \"approved\"\npositive = [\"yes\", 1, 2.5, true]\n\
            sensitive = [\"sex\", \"sex:race\"]\nbins = \"age=25,45\"\nmin-group = 20\ndrop = \"id,fnlwgt\"\n\
            type = [\"zip=categorical\"]\nmerge = [\"job=office:clerk,*\"]\nmissing = [\"drop\", \"job=category\"]\n\
            split = \"50/10/20/20\"\nseed = 7\nseparator = \";\"\ndecimal = \",\"\n\n[fit]\n\
            objective = [\"log_loss\", \"score_covariance(sex)\"]\nsolver = \"trace\"\nmodels = 50\n\
            set = \"tolerance=1e-4\"\npolish = true\nfront-in = \"measures\"\nrequire = [\"accuracy >= 80%\"]\n\
            confidence = \"0.9\"\nbest = \"accuracy\"\npenalty = 0.01\nmax-seconds = 10\n";
        let short = "target = \"y\"\npositive = 1\n[fit]\npenalty = \"auto\"\n";
        vec![Part {
            name: "",
            form: Form::Text,
            seeds: vec![full.into(), short.into()],
        }]
    }
    fn words(&self) -> &'static [&'static str] {
        WORDS
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let Ok(text) = std::str::from_utf8(input) else {
            return Ok(Taken::Refused);
        };
        let Ok(written) = settings::of_toml(text) else {
            return Ok(Taken::Refused);
        };
        match settings::of_toml(&written) {
            Ok(again) if again == written => Ok(Taken::Accepted),
            Ok(again) => Err(format!("{written:?} is read as {again:?}")),
            Err(error) => Err(format!("{written:?} is rejected: {error}")),
        }
    }
}

/// Arguments, one per line: the description is repeatable, and errors have messages.
pub(super) struct Arguments;

impl Target for Arguments {
    fn name(&self) -> &'static str {
        "arguments"
    }
    fn parts(&self) -> Vec<Part> {
        let lines = [
            "fit\nloans.csv\n--target\napproved\n--positive\n>= 5000\n--sensitive\nsex:race\n--out\nr",
            "fit\ndemo(rows=500)\n--out\nr\n--objective\nerror_rate(fp=2)\n--objective\ndemographic_parity(sex)",
            "fit\nt.csv\n--out\nr\n--target\ny\n--type\nzip=categorical\n--bins\nage=25,45\n--merge\njob=a:b,*\n--sensitive\nage",
            "fit\nt.csv\n--out\nr\n--target\ny\n--missing\njob=drop\n--split\ncolumn:part\n--penalty\n0.1\n--sensitive\ns",
            "fit\nt.csv\n--out\nr\n--target\ny\n--sensitive\ns\n--set\ntolerance=1e-5\n--solver\ntrace\n--models\n9",
            "select\nrun\n--require\naccuracy >= 80%\n--confidence\n0.9\n--best\nvalidation.log_loss",
            "select\nrun\n--weights\nerror_rate=0.7,demographic_parity(sex)=0.3",
            "tune\ndemo\n--try\npenalty=0.1,auto\n--try\nbatches=80*1.02;200*1.02\n--most\n3",
            "compare\na\nb.csv\n--reference\n0.7,0.1\n--tolerance\n0.01",
            "stream\nstate\na.csv\n--batch\n100\n--window\n500",
        ];
        vec![Part {
            name: "",
            form: Form::Text,
            seeds: lines.map(|text| text.as_bytes().to_vec()).to_vec(),
        }]
    }
    fn words(&self) -> &'static [&'static str] {
        WORDS
    }
    fn turns(&self) -> usize {
        10
    }
    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        let text = String::from_utf8_lossy(input);
        // This argument would read a file.
        if text.contains("--config") {
            return Ok(Taken::Refused);
        }
        let args = || {
            let own = text.split('\n').map(OsString::from);
            std::iter::once(OsString::from("fairfront")).chain(own)
        };
        match settings::of_arguments(args()) {
            Ok(described) if Ok(&described) == settings::of_arguments(args()).as_ref() => {
                Ok(Taken::Accepted)
            }
            Ok(described) => Err(format!(
                "the same arguments give different settings: {described}"
            )),
            Err(message) if message.trim().is_empty() => Err("an error without a message".into()),
            Err(_) => Ok(Taken::Refused),
        }
    }
}
