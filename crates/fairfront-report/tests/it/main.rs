//! Snapshots and file sizes of whole figures.

use fairfront_report::{
    Better, Curve, Line, Overlay, Pairs, ProfilePanels, Profiles, Scatter, Scatters, Series, Side,
    Volume,
};

/// A convex front of `n` points, moved to the right by `shift`.
fn front(n: u32, shift: f64) -> Vec<f64> {
    let point = |i: u32| {
        let t = f64::from(i) / f64::from(n - 1);
        [0.33 + 0.17 * t + shift, 0.02 * (1.0 - t).powi(2)]
    };
    (0..n).flat_map(point).collect()
}

#[test]
fn a_small_figure_stays_as_it_is() {
    let (short, long) = (front(4, 0.01), front(200, 0.0));
    let svg = Overlay {
        title: "Adult <gender> & \"race\"".into(),
        axes: vec!["log_loss".into(), "score_covariance(gender)".into()],
        series: vec![
            Series {
                name: "eps-fair",
                values: &short,
            },
            Series {
                name: "pf-smg",
                values: &long,
            },
            Series {
                name: "none",
                values: &[0.33, f64::NAN],
            },
        ],
        reference: Some(vec![0.52, 0.0205]),
    }
    .to_svg();
    insta::assert_snapshot!("overlay", svg);
}

#[test]
fn a_small_curve_stays_as_it_is() {
    let values = |shift: f64| {
        let value = |i: u32| (f64::from(i), 0.8 - shift / f64::from(i));
        (1..=50).map(value).collect::<Vec<_>>()
    };
    let (mut before, long) = (values(0.2)[..6].to_vec(), values(0.1));
    before[3].1 = f64::NAN;
    let svg = Curve {
        title: "Adult <stream> & \"batches\"".into(),
        x: "batch".into(),
        y: "hypervolume (share of the box)".into(),
        lines: vec![
            Line {
                name: "before the update",
                points: &before,
            },
            Line {
                name: "after",
                points: &long,
            },
            Line {
                name: "none",
                points: &[],
            },
        ],
    }
    .to_svg();
    insta::assert_snapshot!("curve", svg);
}

#[test]
fn small_panels_stay_as_they_are() {
    let (long, short) = (front(200, 0.0), front(4, 0.0));
    let side = |name: &str, better| Side {
        name: name.into(),
        better,
    };
    let panel = |title: &str, y: Side, series: Vec<Series<'static>>| Scatter {
        title: title.into(),
        x: side("log_loss", Better::Lower),
        y,
        series,
        marked: vec![0.33, 0.021],
    };
    let (long, short): (&'static [f64], &'static [f64]) = (long.leak(), short.leak());
    let svg = Scatters {
        title: "Adult <gender> & \"race\"".into(),
        panels: vec![
            panel(
                "the front",
                side("score_covariance(gender)", Better::Lower),
                vec![Series {
                    name: "front",
                    values: long,
                }],
            ),
            panel(
                "groups",
                side("share of positive outcomes", Better::Neither),
                vec![
                    Series {
                        name: "Female",
                        values: long,
                    },
                    Series {
                        name: "Male",
                        values: short,
                    },
                ],
            ),
        ],
        marked: "unmitigated model".into(),
    }
    .to_svg();
    insta::assert_snapshot!("scatters", svg);
}

#[test]
fn small_pairs_stay_as_they_are() {
    let values = [0.34, 0.02, 0.01, 0.36, 0.01, 0.002, 0.4, 0.0, 0.0];
    let svg = Pairs {
        title: "Adult <gender> & \"race\"".into(),
        axes: [
            "log_loss",
            "score_covariance(gender)",
            "score_covariance(race)",
        ],
        front: Series {
            name: "front",
            values: &values,
        },
        marked: vec![0.33, 0.021, 0.012],
        marked_name: "unmitigated model",
    }
    .to_svg();
    insta::assert_snapshot!("pairs", svg);
}

#[test]
fn small_profiles_stay_as_they_are() {
    let svg = Profiles {
        title: "Seconds on <40> problems".into(),
        solvers: vec![
            Line {
                name: "pf-smg",
                points: &[(1.0, 0.7), (1.5, 0.9), (4.0, 1.0)],
            },
            Line {
                name: "eps-fair",
                points: &[(1.0, 0.3), (3.0, 0.55), (11.0, 0.8)],
            },
        ],
    }
    .to_svg();
    insta::assert_snapshot!("profiles", svg);
}

#[test]
fn small_panels_of_profiles_stay_as_they_are() {
    let panel = |title: &str, own: &'static [(f64, f64)], other: &'static [(f64, f64)]| Profiles {
        title: title.into(),
        solvers: vec![
            Line {
                name: "pf-smg",
                points: own,
            },
            Line {
                name: "eps-fair",
                points: other,
            },
        ],
    };
    let svg = ProfilePanels {
        title: "<40> problems".into(),
        panels: vec![
            panel("purity", &[(1.0, 0.4), (1.1, 1.0)], &[(1.0, 0.6)]),
            panel("seconds & more", &[(1.0, 1.0)], &[(3.0, 0.5), (9.0, 0.8)]),
            panel("nothing", &[], &[]),
        ],
    }
    .to_svg();
    insta::assert_snapshot!("profile_panels", svg);
}

#[test]
fn a_small_volume_stays_as_it_is() {
    let values = [0.34, 0.02, 0.36, 0.01, 0.4, 0.0, 0.41, 0.015, 0.6, 0.0];
    let svg = Volume {
        title: "Adult <gender> & \"race\"".into(),
        axes: ["log_loss", "score_covariance(gender)"],
        front: Series {
            name: "front",
            values: &values,
        },
        reference: [0.5, 0.022],
        label: "hypervolume 0.00284".into(),
    }
    .to_svg();
    insta::assert_snapshot!("volume", svg);
}

#[test]
fn many_panels_are_small_files() {
    // Up to nine panels with three fronts of 1,500 points each: on a curve, next to it, and
    // scattered.
    let scattered: Vec<f64> = (0..1500_u32)
        .flat_map(|i| [97, 131].map(|k| f64::from((i * k) % 1499) / 1499.0))
        .collect();
    let near: Vec<f64> = (scattered.chunks(2).zip(front(1500, 0.0).chunks(2)))
        .flat_map(|(noise, p)| [p[0] + 0.004 * noise[0], p[1] + 0.0005 * noise[1]])
        .collect();
    let side = |name: &str| Side {
        name: name.into(),
        better: Better::Lower,
    };
    for (n, third, most) in [
        (9, &near, 150_000),
        (6, &near, 100_000),
        (9, &scattered, 220_000),
    ] {
        let fronts = [front(1500, 0.0), front(1500, 0.003), third.clone()];
        let panel = Scatter {
            title: "seed".into(),
            x: side("log_loss"),
            y: side("score_covariance(sex)"),
            series: (fronts.iter().zip(["exact", "paper", "others"]))
                .map(|(values, name)| Series { name, values })
                .collect(),
            marked: vec![0.33, 0.02],
        };
        let svg = Scatters {
            title: "many seeds".into(),
            panels: vec![panel; n],
            marked: "unmitigated model".into(),
        }
        .to_svg();
        assert!(svg.len() < most, "{} bytes for {n} panels", svg.len());
        // All axes have the same better direction; it appears once, and every axis keeps its name.
        assert_eq!(svg.matches(">lower is better<").count(), 1);
        assert_eq!(svg.matches(">score_covariance(sex)<").count(), n);
    }
}

#[test]
fn large_figures_are_small_files() {
    // Three fronts of 1,500 points each: over two objectives, and scattered over three objectives.
    let fronts: Vec<Vec<f64>> = (0..3).map(|i| front(1500, 0.01 * f64::from(i))).collect();
    let scattered: Vec<Vec<f64>> = (0..3)
        .map(|s| {
            let point = |i: u32| [97, 131, 173].map(|k| f64::from((i * k + s * 500) % 1499));
            (0..1500).flat_map(point).collect()
        })
        .collect();
    for (m, series) in [(2, fronts), (3, scattered)] {
        let svg = Overlay {
            title: String::new(),
            axes: (0..m).map(|i| format!("f{i}")).collect(),
            series: (series.iter())
                .map(|values| Series {
                    name: "front",
                    values,
                })
                .collect(),
            reference: None,
        }
        .to_svg();
        assert!(svg.len() < 300_000, "{} bytes for m = {m}", svg.len());
    }
}
