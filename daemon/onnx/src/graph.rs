//! Graph: an ONNX file, written node by node.
//!
//! In: nodes and tensors. Out: those messages of ONNX's protocol buffer (`onnx.proto3`) that a transformer or a small
//! graph needs; the numbers of fields in this file are those of that schema.
//! Invariants: the same calls give the same bytes; weights are in memory once, or not at all if they are written to a
//! file beside the graph.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Version of the operator set that [`Graph`] requires.
const OPSET: u64 = 17;

/// A graph under construction. Inputs and outputs have names, everything in between has a number.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Vec<u8>>,
    tensors: Vec<Vec<u8>>,
    n_names: usize,
    has_kinds: bool,
    beside: Option<Beside>,
}

/// A file beside the graph that holds its large tensors.
#[derive(Debug)]
struct Beside {
    name: String,
    file: BufWriter<File>,
    n_bytes: u64,
    /// The first failure, reported by [`Graph::write`].
    result: io::Result<()>,
}

/// Tensors of at least this size, in bytes, are written beside the graph.
const LARGE: usize = 256;

/// Alignment of tensors in a file beside the graph, in bytes, so that a mapped tensor can be used in place.
const ALIGNED: u64 = 64;

/// An attribute of a node.
#[derive(Debug, Clone, Copy)]
pub enum Attribute<'a> {
    /// A whole number.
    Int(&'a str, i64),
    /// Several whole numbers.
    Ints(&'a str, &'a [i64]),
    /// A number.
    Float(&'a str, f32),
}

impl Beside {
    /// Writes a tensor; returns its offset and size, in bytes.
    fn write(&mut self, raw: impl Iterator<Item = u8>) -> (u64, u64) {
        let start = self.n_bytes.next_multiple_of(ALIGNED);
        let padding = std::iter::repeat_n(0, (start - self.n_bytes) as usize);
        for byte in padding.chain(raw) {
            if self.result.is_ok() {
                self.result = self.file.write_all(&[byte]);
            }
            self.n_bytes += 1;
        }
        (start, self.n_bytes - start)
    }
}

impl Graph {
    /// Creates a graph whose large tensors are written to this file, which is beside the graph's.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(crate) fn beside(path: &Path) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = BufWriter::new(File::create(path)?);
        let beside = Beside { name, file, n_bytes: 0, result: Ok(()) };
        Ok(Graph { beside: Some(beside), ..Graph::default() })
    }

    /// Adds a constant of 32-bit floats and returns its name. Without sizes it is a scalar.
    pub fn floats(&mut self, sizes: &[i64], numbers: &[f32]) -> String {
        self.tensor(Kind::Float, sizes, numbers.iter().flat_map(|number| number.to_le_bytes()))
    }

    /// Adds a constant of 8-bit integers and returns its name.
    pub fn bytes(&mut self, sizes: &[i64], numbers: impl Iterator<Item = i8>) -> String {
        self.tensor(Kind::Int8, sizes, numbers.map(i8::cast_unsigned))
    }

    /// Adds a vector of 64-bit integers and returns its name.
    pub fn ints(&mut self, numbers: &[i64]) -> String {
        let size = i64::try_from(numbers.len()).unwrap_or_default();
        self.tensor(Kind::Int64, &[size], numbers.iter().flat_map(|number| number.to_le_bytes()))
    }

    /// Adds the input with the text (0 or 1) to which each token belongs, and returns its name.
    pub fn kinds(&mut self) -> &'static str {
        self.has_kinds = true;
        "token_type_ids"
    }

    /// Adds a node and returns the name of its output.
    pub fn node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[Attribute<'_>],
    ) -> String {
        let [name] = self.node_of(operator, inputs, attributes);
        name
    }

    /// Adds a node with several outputs and returns their names.
    pub fn node_of<const N: usize>(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[Attribute<'_>],
    ) -> [String; N] {
        let names = std::array::from_fn(|_| self.name());
        self.node_named(operator, inputs, &names.each_ref().map(String::as_str), attributes);
        names
    }

    /// Returns the size of all constants in memory so far, in bytes: nearly all of a model.
    pub fn n_bytes(&self) -> usize {
        self.tensors.iter().map(Vec::len).sum()
    }

    /// Returns the file, with inputs `input_ids` and `attention_mask`, and `result` as the output named `output`.
    pub fn finish(self, result: &str, output: &str) -> Vec<u8> {
        let mut model = Vec::with_capacity(self.n_bytes());
        // Writing to memory cannot fail.
        let _ = self.write(&mut model, result, output);
        model
    }

    /// Writes the same as [`Graph::finish`] to a file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(mut self, out: &mut impl Write, result: &str, output: &str) -> io::Result<()> {
        if let Some(beside) = self.beside.take() {
            beside.result?;
            beside.file.into_inner()?.sync_all()?;
        }
        self.node_named("Identity", &[result], &[output], &[]);
        // GraphProto: node 1, name 2, initializer 5, input 11, output 12.
        let mut head = Vec::new();
        self.nodes.iter().for_each(|node| bytes(&mut head, 1, node));
        bytes(&mut head, 2, b"kgd");
        let mut tail = Vec::new();
        let kinds = self.has_kinds.then_some("token_type_ids");
        for name in ["input_ids", "attention_mask"].into_iter().chain(kinds) {
            bytes(&mut tail, 11, &value(name, Kind::Int64, &["batch", "tokens"]));
        }
        bytes(&mut tail, 12, &value(output, Kind::Float, &[]));
        let framed = |tensor: &Vec<u8>| {
            let mut frame = Vec::new();
            opening(&mut frame, 5, tensor.len());
            frame
        };
        // The length precedes the graph, so it is computed before anything is written: tensors are not copied.
        let n_tensor_bytes: usize =
            self.tensors.iter().map(|tensor| framed(tensor).len() + tensor.len()).sum();
        let mut model = Vec::new();
        // ModelProto: ir_version 1, graph 7, opset_import 8 with its version 2.
        number(&mut model, 1, 8);
        opening(&mut model, 7, head.len() + n_tensor_bytes + tail.len());
        out.write_all(&model)?;
        out.write_all(&head)?;
        for tensor in &self.tensors {
            out.write_all(&framed(tensor))?;
            out.write_all(tensor)?;
        }
        out.write_all(&tail)?;
        let (mut opset, mut model) = (Vec::new(), Vec::new());
        number(&mut opset, 2, OPSET);
        bytes(&mut model, 8, &opset);
        out.write_all(&model)
    }

    fn node_named(
        &mut self,
        operator: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[Attribute<'_>],
    ) {
        // NodeProto: input 1, output 2, op_type 4, attribute 5.
        let mut node = Vec::new();
        inputs.iter().for_each(|input| bytes(&mut node, 1, input.as_bytes()));
        outputs.iter().for_each(|output| bytes(&mut node, 2, output.as_bytes()));
        bytes(&mut node, 4, operator.as_bytes());
        attributes.iter().for_each(|it| bytes(&mut node, 5, &attribute(it)));
        self.nodes.push(node);
    }

    fn tensor(&mut self, kind: Kind, sizes: &[i64], raw: impl Iterator<Item = u8>) -> String {
        let name = self.name();
        let mut tensor = Vec::new();
        // TensorProto: dims 1, data_type 2, name 8, raw_data 9, external_data 13, data_location 14 (1: external).
        sizes.iter().for_each(|&size| number(&mut tensor, 1, size as u64));
        number(&mut tensor, 2, kind as u64);
        bytes(&mut tensor, 8, name.as_bytes());
        // The length comes from the numbers, not from `sizes`: a test writes files whose sizes are wrong.
        let mut raw = raw;
        let first: Vec<u8> = raw.by_ref().take(LARGE).collect();
        match &mut self.beside {
            Some(beside) if first.len() == LARGE => {
                let (start, n_bytes) = beside.write(first.into_iter().chain(raw));
                let (start, n_bytes) = (start.to_string(), n_bytes.to_string());
                for (key, value) in
                    [("location", &beside.name), ("offset", &start), ("length", &n_bytes)]
                {
                    let mut entry = Vec::new();
                    bytes(&mut entry, 1, key.as_bytes());
                    bytes(&mut entry, 2, value.as_bytes());
                    bytes(&mut tensor, 13, &entry);
                }
                number(&mut tensor, 14, 1);
            }
            _ => bytes(&mut tensor, 9, &first.into_iter().chain(raw).collect::<Vec<u8>>()),
        }
        self.tensors.push(tensor);
        name
    }

    fn name(&mut self) -> String {
        self.n_names += 1;
        format!("v{}", self.n_names)
    }
}

/// Types of numbers, by their value in ONNX's enum.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Float = 1,
    Int8 = 3,
    Int64 = 7,
}

fn attribute(attribute: &Attribute<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    // AttributeProto: name 1, f 2, i 3, ints 8, type 20 (1 float, 2 int, 7 ints).
    match *attribute {
        Attribute::Float(name, value) => {
            bytes(&mut out, 1, name.as_bytes());
            // Tag of a 32-bit value; `number` and `bytes` write the other kinds.
            varint(&mut out, 2 << 3 | 5);
            out.extend(value.to_le_bytes());
            number(&mut out, 20, 1);
        }
        Attribute::Int(name, value) => {
            bytes(&mut out, 1, name.as_bytes());
            number(&mut out, 3, value as u64);
            number(&mut out, 20, 2);
        }
        Attribute::Ints(name, values) => {
            bytes(&mut out, 1, name.as_bytes());
            values.iter().for_each(|&value| number(&mut out, 8, value as u64));
            number(&mut out, 20, 7);
        }
    }
    out
}

/// Returns the message of an input or output: its name, type and named sizes. Without sizes the shape stays open.
fn value(name: &str, kind: Kind, sizes: &[&str]) -> Vec<u8> {
    // TensorShapeProto: dim 1, each with dim_param 2. ValueInfoProto: name 1, type 2; within: tensor_type 1, with
    // elem_type 1 and shape 2.
    let mut shape = Vec::new();
    for size in sizes {
        let mut dimension = Vec::new();
        bytes(&mut dimension, 2, size.as_bytes());
        bytes(&mut shape, 1, &dimension);
    }
    let (mut tensor, mut of_tensor, mut out) = (Vec::new(), Vec::new(), Vec::new());
    number(&mut tensor, 1, kind as u64);
    if !sizes.is_empty() {
        bytes(&mut tensor, 2, &shape);
    }
    bytes(&mut of_tensor, 1, &tensor);
    bytes(&mut out, 1, name.as_bytes());
    bytes(&mut out, 2, &of_tensor);
    out
}

fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    opening(out, field, value.len());
    out.extend_from_slice(value);
}

/// Writes the tag and length that precede `n` bytes of a field.
fn opening(out: &mut Vec<u8>, field: u64, n: usize) {
    varint(out, field << 3 | 2);
    varint(out, n as u64);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    // Seven bits per byte, the lowest first; the high bit says that more follow.
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
