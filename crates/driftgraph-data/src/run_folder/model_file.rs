//! Arrays of a model in the safetensors format.

use std::io::{self, Write};

use driftgraph_core::fitted::arrays::{ArrayHead, ArraySource, NamedArray, Values};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

pub(super) struct StoredArrays<'a>(pub(super) SafeTensors<'a>);

impl ArraySource for StoredArrays<'_> {
    fn head(&self, name: &str) -> Option<ArrayHead> {
        let tensor = self.0.tensor(name).ok()?;
        let precision = match tensor.dtype() {
            Dtype::F32 => "f32".to_owned(),
            Dtype::F64 => "f64".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        Some(ArrayHead { precision, shape: tensor.shape().to_vec() })
    }

    fn singles(&self, name: &str) -> Vec<f32> {
        let Ok(tensor) = self.0.tensor(name) else { return Vec::new() };
        let (numbers, _) = tensor.data().as_chunks::<4>();
        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }

    fn doubles(&self, name: &str) -> Vec<f64> {
        let Ok(tensor) = self.0.tensor(name) else { return Vec::new() };
        let (numbers, _) = tensor.data().as_chunks::<8>();
        numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    }
}

/// Writes arrays in the safetensors format, in an order that depends on their names alone.
pub fn write_model(mut out: impl Write, arrays: &[NamedArray]) -> io::Result<()> {
    let bytes: Vec<(Dtype, Vec<u8>)> = arrays.iter().map(|array| to_bytes(&array.values)).collect();
    let views = arrays.iter().zip(&bytes).map(|(array, (kind, bytes))| {
        let view = TensorView::new(*kind, array.shape.clone(), bytes);
        view.map(|view| (array.name.as_str(), view)).map_err(io::Error::other)
    });
    let views = views.collect::<io::Result<Vec<_>>>()?;
    out.write_all(&safetensors::serialize(views, None).map_err(io::Error::other)?)
}

fn to_bytes(values: &Values) -> (Dtype, Vec<u8>) {
    match values {
        Values::Single(all) => (Dtype::F32, all.iter().flat_map(|n| n.to_le_bytes()).collect()),
        Values::Double(all) => (Dtype::F64, all.iter().flat_map(|n| n.to_le_bytes()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_file_gives_back_names_shapes_and_numbers() {
        let arrays = [
            NamedArray::single("w", [2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.5]),
            NamedArray::double("b", [1, 1], vec![-0.25]),
        ];
        let mut file = Vec::new();
        write_model(&mut file, &arrays).unwrap();
        let read = SafeTensors::deserialize(&file).unwrap();
        assert_eq!(read.len(), 2);
        let w = read.tensor("w").unwrap();
        assert_eq!(w.shape(), [2, 3]);
        assert_eq!(w.data()[20..], 6.5_f32.to_le_bytes());
        assert_eq!(read.tensor("b").unwrap().data(), (-0.25_f64).to_le_bytes());
    }
}
