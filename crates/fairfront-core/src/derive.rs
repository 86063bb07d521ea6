//! Data sets derived from others: the same rows with other features.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::{
    BLOCK_ROWS, BothSides, Dataset, Engine, Error, Host, Nearest, Pass, RowBlock, RowSource,
    Schema, Strata,
};

impl Schema {
    /// This schema with further numeric features after its own.
    #[must_use]
    pub fn with_numeric(&self, names: &[String]) -> Self {
        let mut schema = self.clone();
        schema.numeric.extend(names.iter().cloned());
        schema
    }

    /// This schema with these numeric features instead of all its features.
    #[must_use]
    pub fn of_numeric(&self, names: &[String]) -> Self {
        Self {
            numeric: names.to_vec(),
            categorical: Vec::new(),
            hidden: 0,
            ..self.clone()
        }
    }
}

impl RowBlock {
    /// The same rows with further numeric features: `values` are n × features, row by row. `schema`
    /// describes this block, and `wider` the result.
    pub fn with_numeric(
        &self,
        schema: &Schema,
        wider: &Schema,
        values: &[f64],
    ) -> Result<Self, Error> {
        let n = wider.numeric.len() - schema.numeric.len();
        let (null, new_null) = (schema.null_feature(), wider.null_feature());
        let mut numeric = Vec::with_capacity(self.n_rows() * wider.numeric.len());
        let mut codes = Vec::with_capacity(self.n_rows() * schema.categorical.len());
        for row in 0..self.n_rows() {
            numeric.extend_from_slice(self.numeric(row));
            numeric.extend_from_slice(&values[row * n..(row + 1) * n]);
            codes.extend(self.codes(row).iter().map(|code| match *code == null {
                true => new_null,
                // Categories come after the numeric features.
                false => code + n as u32,
            }));
        }
        self.with_features(wider, numeric, codes)
    }

    /// The same rows with these numeric features instead of their own.
    pub fn of_numeric(&self, schema: &Schema, values: Vec<f64>) -> Result<Self, Error> {
        self.with_features(schema, values, Vec::new())
    }

    /// The same labels, groups and weights with other features.
    fn with_features(
        &self,
        schema: &Schema,
        numeric: Vec<f64>,
        codes: Vec<u32>,
    ) -> Result<Self, Error> {
        let attributes = 0..schema.attributes.len();
        Self::new(
            schema,
            numeric,
            codes,
            self.labels().to_vec(),
            attributes.map(|a| self.groups(a).to_vec()).collect(),
            self.weights().to_vec(),
        )
    }
}

/// Rows of another source with other features, which are computed whenever a block is read.
struct Mapped<F> {
    schema: Schema,
    rows: Dataset,
    map: F,
    host: Host,
}

impl<F: Fn(&RowBlock) -> Result<RowBlock, Error> + Send + Sync> Engine for Mapped<F> {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn n_rows(&self) -> u64 {
        self.rows.n_rows() as u64
    }

    fn sum(&self, pass: &Pass<'_>) -> Result<Vec<f64>, Error> {
        self.host.sum(self, pass)
    }

    fn nearest(&self, nearest: &Nearest<'_>) -> Result<Vec<BothSides>, Error> {
        self.host.nearest(self, nearest)
    }
}

impl<F: Fn(&RowBlock) -> Result<RowBlock, Error> + Send + Sync> RowSource for Mapped<F> {
    fn block(&self, index: usize) -> Result<Arc<RowBlock>, Error> {
        Ok(Arc::new((self.map)(&*self.rows.block(index)?)?))
    }

    fn people(&self) -> Option<&Arc<[u32]>> {
        self.rows.people()
    }

    fn prefetch(&self, blocks: Range<usize>) {
        self.rows.prefetch(blocks);
    }

    fn strata(&self, by: Strata) -> Result<Vec<Vec<u32>>, Error> {
        self.rows.strata(by)
    }
}

impl Dataset {
    /// The same rows with features that are a function of each block. Rows in memory stay there; for rows
    /// that are not, the function is called whenever a block is read.
    pub fn mapped(
        &self,
        schema: Schema,
        map: impl Fn(&RowBlock) -> Result<RowBlock, Error> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        if self.is_in_memory() {
            let blocks = (0..self.n_blocks()).into_par_iter();
            let blocks = blocks.map(|index| map(&*self.block(index)?));
            let rows = Self::new(schema, blocks.collect::<Result<_, _>>()?)?;
            return Ok(rows.with_people_of(self));
        }
        Ok(Self::over(Arc::new(Mapped {
            schema,
            rows: self.clone(),
            map,
            host: Host::default(),
        })))
    }

    /// The same rows with further numeric features. `values` has n × features numbers, row by row.
    pub fn with_numeric(&self, names: &[String], values: &[f64]) -> Result<Self, Error> {
        let wider = self.schema().with_numeric(names);
        self.derived(&wider, names.len(), values, |block, values| {
            block.with_numeric(self.schema(), &wider, values)
        })
    }

    /// The same rows with these numeric features instead of their own.
    pub fn of_numeric(&self, names: &[String], values: &[f64]) -> Result<Self, Error> {
        let schema = self.schema().of_numeric(names);
        self.derived(&schema, names.len(), values, |block, values| {
            block.of_numeric(&schema, values.to_vec())
        })
    }

    fn derived(
        &self,
        schema: &Schema,
        per_row: usize,
        values: &[f64],
        block: impl Fn(&RowBlock, &[f64]) -> Result<RowBlock, Error> + Sync,
    ) -> Result<Self, Error> {
        if values.len() != self.n_rows() * per_row {
            return Err(Error::Shape {
                what: "values of derived features",
                expected: self.n_rows() * per_row,
                found: values.len(),
            });
        }
        let of_block = |index: usize| {
            let rows = self.block(index)?;
            let first = index * BLOCK_ROWS * per_row;
            block(&rows, &values[first..first + rows.n_rows() * per_row])
        };
        let blocks = (0..self.n_blocks()).into_par_iter().map(of_block);
        let rows = Self::new(schema.clone(), blocks.collect::<Result<_, _>>()?)?;
        Ok(rows.with_people_of(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, CategoricalFeature};

    fn dataset(n: usize) -> Dataset {
        let schema = Schema {
            numeric: vec!["age".into()],
            categorical: vec![CategoricalFeature {
                column: "job".into(),
                categories: vec!["a".into(), "b".into()],
            }],
            attributes: vec![Attribute::new("sex", vec!["F".into(), "M".into()])],
            target: crate::Target::Binary,
            hidden: 0,
        };
        let blocks = (0..n).step_by(BLOCK_ROWS).map(|first| {
            let rows = first..(first + BLOCK_ROWS).min(n);
            RowBlock::new(
                &schema,
                rows.clone().map(|r| r as f64).collect(),
                // Every third category is unseen.
                rows.clone().map(|r| [1, 2, 4][r % 3]).collect(),
                rows.clone()
                    .map(|r| if r % 2 == 0 { 1.0 } else { -1.0 })
                    .collect(),
                vec![rows.clone().map(|r| (r % 2) as u32).collect()],
                rows.map(|r| 1.0 + r as f64).collect(),
            )
        });
        Dataset::new(schema.clone(), blocks.collect::<Result<_, _>>().unwrap()).unwrap()
    }

    #[test]
    fn further_features_keep_rows_and_codes() {
        let n = BLOCK_ROWS + 5;
        let data = dataset(n);
        let values: Vec<f64> = (0..2 * n).map(|i| i as f64 / 7.0).collect();
        let names = ["p".to_owned(), "q".to_owned()];
        let wider = data.with_numeric(&names, &values).unwrap();
        assert_eq!(
            wider.schema().feature_names(),
            ["age", "p", "q", "job=a", "job=b"]
        );
        let alone = data.of_numeric(&names, &values).unwrap();
        assert_eq!(alone.schema().feature_names(), ["p", "q"]);
        let mut row = 0;
        for ((old, new), alone) in data.blocks().zip(wider.blocks()).zip(alone.blocks()) {
            let (old, new, alone) = (old.unwrap(), new.unwrap(), alone.unwrap());
            assert_eq!(old.labels(), new.labels());
            assert_eq!(old.weights(), alone.weights());
            assert_eq!(old.groups(0), new.groups(0));
            for at in 0..old.n_rows() {
                let own = &values[2 * row..2 * row + 2];
                assert_eq!(new.numeric(at), [old.numeric(at), own].concat());
                assert_eq!(alone.numeric(at), own);
                assert_eq!(new.codes(at), [[3, 4, 6][row % 3]]);
                row += 1;
            }
        }
        assert!(data.with_numeric(&names, &values[1..]).is_err());
    }
}
