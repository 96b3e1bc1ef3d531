//! Tree: the smallest tree that html5ever's tree builder accepts: nodes with a name, a parent and
//! children.
//!
//! In: HTML. Out: the number of nodes, so that nothing is optimized away.

use std::borrow::Cow;
use std::cell::{Ref, RefCell};

use html5ever::tendril::{StrTendril, TendrilSink as _};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, QualName};

/// Parses a page.
pub(crate) fn parse(text: &str) -> usize {
    html5ever::parse_document(Sink::default(), html5ever::ParseOpts::default()).one(text)
}

#[derive(Default)]
struct Node {
    name: Option<QualName>,
    attrs: Vec<Attribute>,
    text: StrTendril,
    parent: Option<usize>,
    children: Vec<usize>,
}

struct Sink(RefCell<Vec<Node>>);

impl Default for Sink {
    fn default() -> Self {
        Sink(RefCell::new(vec![Node::default()]))
    }
}

impl Sink {
    fn create(&self, node: Node) -> usize {
        self.0.borrow_mut().push(node);
        self.0.borrow().len() - 1
    }

    fn take(&self, child: NodeOrText<usize>) -> usize {
        match child {
            NodeOrText::AppendNode(id) => id,
            NodeOrText::AppendText(text) => self.create(Node { text, ..Node::default() }),
        }
    }

    fn detach(&self, id: usize) {
        let mut nodes = self.0.borrow_mut();
        if let Some(parent) = nodes[id].parent.take() {
            nodes[parent].children.retain(|child| *child != id);
        }
    }
}

impl TreeSink for Sink {
    type Handle = usize;
    type Output = usize;
    type ElemName<'n> = Ref<'n, QualName>;

    fn finish(self) -> usize {
        self.0.borrow().iter().map(|node| 1 + node.text.len() + node.attrs.len()).sum()
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> usize {
        0
    }

    fn elem_name<'n>(&'n self, target: &'n usize) -> Ref<'n, QualName> {
        Ref::map(self.0.borrow(), |nodes| nodes[*target].name.as_ref().expect("an element"))
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, _: ElementFlags) -> usize {
        self.create(Node { name: Some(name), attrs, ..Node::default() })
    }

    fn create_comment(&self, text: StrTendril) -> usize {
        self.create(Node { text, ..Node::default() })
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> usize {
        self.create(Node::default())
    }

    fn append(&self, parent: &usize, child: NodeOrText<usize>) {
        let child = self.take(child);
        self.detach(child);
        let mut nodes = self.0.borrow_mut();
        nodes[child].parent = Some(*parent);
        nodes[*parent].children.push(child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &usize,
        previous: &usize,
        child: NodeOrText<usize>,
    ) {
        let has_parent = self.0.borrow()[*element].parent.is_some();
        if has_parent {
            self.append_before_sibling(element, child)
        } else {
            self.append(previous, child)
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &usize) -> usize {
        *target
    }

    fn same_node(&self, x: &usize, y: &usize) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &usize, child: NodeOrText<usize>) {
        let child = self.take(child);
        self.detach(child);
        let mut nodes = self.0.borrow_mut();
        let Some(parent) = nodes[*sibling].parent else { return };
        nodes[child].parent = Some(parent);
        let at = nodes[parent].children.iter().position(|id| id == sibling).unwrap_or(0);
        nodes[parent].children.insert(at, child);
    }

    fn add_attrs_if_missing(&self, _target: &usize, _attrs: Vec<Attribute>) {}

    fn remove_from_parent(&self, target: &usize) {
        self.detach(*target);
    }

    fn reparent_children(&self, node: &usize, new_parent: &usize) {
        let children = std::mem::take(&mut self.0.borrow_mut()[*node].children);
        for child in children {
            self.0.borrow_mut()[child].parent = None;
            self.append(new_parent, NodeOrText::AppendNode(child));
        }
    }
}
