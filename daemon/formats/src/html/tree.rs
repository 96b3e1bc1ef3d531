//! Tree: a parsed page as an arena of linked nodes, each text with its place in the source.
//!
//! Invariants: links agree with each other; no node is its own ancestor. Every traversal is a loop, so that depth
//! needs no stack.

use std::ops::Range;

use html5ever::tendril::StrTendril;
use html5ever::{Attribute, QualName, ns};

use super::kind::Kind;

/// A node of one [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(u32);

impl NodeId {
    /// The document itself.
    pub(super) const ROOT: NodeId = NodeId(0);

    /// Returns its number, less than [`Tree::n_nodes`].
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Text and its place in the source.
#[derive(Debug, Clone)]
pub(super) enum Text {
    /// Equals the source at this place.
    Verbatim(Range<usize>),
    /// Stands for this place; if the place is empty, it is only approximate.
    Replaced(StrTendril, Range<usize>),
}

impl Text {
    /// Returns the characters.
    pub(super) fn of<'t>(&'t self, source: &'t str) -> &'t str {
        match self {
            Text::Verbatim(range) => source.get(range.clone()).unwrap_or(""),
            Text::Replaced(text, _) => text,
        }
    }
}

/// An element.
#[derive(Debug)]
pub(super) struct Element {
    /// Its full name, for the parser.
    pub(super) name: QualName,
    /// Its meaning.
    pub(super) kind: Kind,
    /// As written; the first one with a name wins.
    pub(super) attrs: Vec<Attribute>,
}

impl Element {
    pub(super) fn new(name: QualName, attrs: Vec<Attribute>) -> Self {
        let kind = match &name {
            name if name.ns == ns!(html) => Kind::of_name(&name.local),
            // Labels in drawings are not sentences; formulas are read as text.
            name if name.ns == ns!(svg) => Kind::Hidden,
            _ => Kind::Inline,
        };
        Element { name, kind, attrs }
    }

    /// Returns the value of an attribute.
    pub(super) fn attr(&self, name: &str) -> Option<&str> {
        self.attrs.iter().find(|attr| &*attr.name.local == name).map(|attr| &*attr.value)
    }
}

/// The content of a node.
#[derive(Debug)]
pub(super) enum Data {
    /// The document, a comment, a fragment: without text.
    Other,
    Text(Text),
    Element(Element),
}

#[derive(Debug)]
struct TreeNode {
    parent: Option<NodeId>,
    previous: Option<NodeId>,
    next: Option<NodeId>,
    first: Option<NodeId>,
    last: Option<NodeId>,
    data: Data,
}

/// A page.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<TreeNode>,
}

impl Tree {
    /// Makes a document without content.
    pub(super) fn new() -> Self {
        let mut tree = Tree { nodes: Vec::new() };
        tree.create(Data::Other);
        tree
    }

    /// Returns the number of nodes, attached or not.
    pub(super) fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Creates a node that is not attached.
    pub(super) fn create(&mut self, data: Data) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let node =
            TreeNode { parent: None, previous: None, next: None, first: None, last: None, data };
        self.nodes.push(node);
        id
    }

    /// Returns the content of a node.
    pub(super) fn data(&self, id: NodeId) -> &Data {
        &self.nodes[id.index()].data
    }

    /// Returns the element at a node, if it is one.
    pub(super) fn element(&self, id: NodeId) -> Option<&Element> {
        match self.data(id) {
            Data::Element(element) => Some(element),
            _ => None,
        }
    }

    /// Like [`Tree::element`], mutable.
    pub(super) fn element_mut(&mut self, id: NodeId) -> Option<&mut Element> {
        match &mut self.nodes[id.index()].data {
            Data::Element(element) => Some(element),
            _ => None,
        }
    }

    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id.index()].parent
    }

    pub(super) fn first_child(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id.index()].first
    }

    pub(super) fn next_sibling(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id.index()].next
    }

    /// Removes a node from its parent.
    pub(super) fn detach(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.index()];
        let (parent, previous, next) = (node.parent.take(), node.previous.take(), node.next.take());
        let Some(parent) = parent else { return };
        match previous {
            Some(previous) => self.nodes[previous.index()].next = next,
            None => self.nodes[parent.index()].first = next,
        }
        match next {
            Some(next) => self.nodes[next.index()].previous = previous,
            None => self.nodes[parent.index()].last = previous,
        }
    }

    /// Makes a node the last child of another.
    pub(super) fn append(&mut self, parent: NodeId, child: NodeId) {
        self.detach(child);
        let last = self.nodes[parent.index()].last.replace(child);
        match last {
            Some(last) => self.nodes[last.index()].next = Some(child),
            None => self.nodes[parent.index()].first = Some(child),
        }
        let node = &mut self.nodes[child.index()];
        (node.parent, node.previous) = (Some(parent), last);
    }

    /// Inserts a node before another; does nothing if that one has no parent.
    pub(super) fn insert_before(&mut self, sibling: NodeId, child: NodeId) {
        self.detach(child);
        let Some(parent) = self.parent(sibling) else { return };
        let previous = self.nodes[sibling.index()].previous.replace(child);
        match previous {
            Some(previous) => self.nodes[previous.index()].next = Some(child),
            None => self.nodes[parent.index()].first = Some(child),
        }
        let node = &mut self.nodes[child.index()];
        (node.parent, node.previous, node.next) = (Some(parent), previous, Some(sibling));
    }

    /// Moves all children of one node to the end of another; returns their number.
    pub(super) fn move_children(&mut self, from: NodeId, to: NodeId) -> usize {
        let mut n_moved = 0;
        while let Some(child) = self.first_child(from) {
            self.append(to, child);
            n_moved += 1;
        }
        n_moved
    }

    /// Returns the node after all descendants of `id` in document order, within `top`.
    pub(super) fn after(&self, id: NodeId, top: NodeId) -> Option<NodeId> {
        let mut at = id;
        while at != top {
            if let Some(next) = self.next_sibling(at) {
                return Some(next);
            }
            at = self.parent(at)?;
        }
        None
    }

    /// Returns all nodes inside `top`, itself first, in document order.
    pub(super) fn walk(&self, top: NodeId) -> impl Iterator<Item = NodeId> {
        let mut next = Some(top);
        std::iter::from_fn(move || {
            let here = next?;
            next = self.first_child(here).or_else(|| self.after(here, top));
            Some(here)
        })
    }

    /// Returns the text inside a node with white space collapsed, limited to about `max_bytes`.
    pub(super) fn text_of(&self, top: NodeId, source: &str, max_bytes: usize) -> String {
        let mut all = String::new();
        for id in self.walk(top) {
            if let Data::Text(text) = self.data(id) {
                all.push_str(text.of(source));
            }
            if all.len() > max_bytes {
                break;
            }
        }
        let mut out = String::with_capacity(all.len());
        for word in all.split_whitespace() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
        out
    }
}
