//! Parse: parses HTML to a [`Tree`] in which every text has its place in the source.
//!
//! In: a source. Out: the tree that a browser would build, or a flat one where that would cost too much.
//! Invariants: time is linear in the source: the builder's work is counted, and a page that exceeds the budget is
//! read again without it (`flat.rs`). No recursion. `html5ever` is driven here directly, not through `scraper`: each
//! tag searches the stack of open elements, so that 80,000 nested `<div>` take 12 s, and only the sink can count
//! that. The tokens pass through here in the order of the source, which gives exact places.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{
    ElementFlags, NodeOrText, QuirksMode, TreeBuilder, TreeBuilderOpts, TreeSink,
};
use html5ever::{Attribute, QualName, local_name, ns};

use super::bound::{MAX_ATTRIBUTES, with_bounded_tags};
use super::flat;
use super::hints::is_hidden;
use super::place::Cursor;
use super::tree::{Data, Element, NodeId, Text, Tree};

/// Budget of comparisons with open elements, for each byte of the source. Ordinary pages need one or two; a page that
/// is nested 200 deep throughout needs about fifteen.
const WORK_PER_BYTE: usize = 24;
/// Budget that every page has, so that small ones are never flattened.
const WORK_BASE: usize = 200_000;
/// Cost of creating an element, in comparisons: memory is more expensive than time.
const WORK_PER_ELEMENT: usize = 40;

/// Parses a source; also returns whether it had to be flattened.
pub(super) fn parse(source: &str) -> (Tree, bool) {
    let budget = WORK_BASE + source.len().saturating_mul(WORK_PER_BYTE);
    let builder = TreeBuilder::new(Sink::new(source, budget), TreeBuilderOpts::default());
    let builder = run(source, Builder { builder, is_after_pre: Cell::new(false) }).builder;
    if builder.sink.is_spent() {
        return (flat::parse(source), true);
    }
    (builder.sink.finish(), false)
}

/// Sends a source through a tokenizer.
pub(super) fn run<S: TokenSink>(source: &str, sink: S) -> S {
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(&*with_bounded_tags(source)));
    // The tokenizer stops early only for scripts and encodings, which our sinks do not report.
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    tokenizer.sink
}

/// A sink between tokenizer and tree builder that follows the source.
struct Builder<'a> {
    builder: TreeBuilder<NodeId, Sink<'a>>,
    is_after_pre: Cell<bool>,
}

/// Removes attributes that reading does not need from formatting tags. The tree builder compares each new formatting
/// element with all open ones, and only drops old ones if they are equal.
fn simplify(tag: &mut Tag, is_after_pre: bool) {
    let is_formatting = matches!(
        &*tag.name,
        "b" | "big"
            | "code"
            | "em"
            | "font"
            | "i"
            | "nobr"
            | "s"
            | "small"
            | "strike"
            | "strong"
            | "tt"
            | "u"
    );
    // `<pre><code class="language-x">` keeps its class. `<a>` keeps its address, since only one can be open.
    let keeps = is_after_pre && tag.name == local_name!("code");
    if !is_formatting || tag.attrs.is_empty() || keeps {
        return;
    }
    let name = QualName::new(None, ns!(html), tag.name.clone());
    let element = Element::new(name, std::mem::take(&mut tag.attrs));
    // A hidden element must stay hidden: one attribute replaces all others.
    if is_hidden(&element) {
        let name = QualName::new(None, ns!(), local_name!("hidden"));
        tag.attrs.push(Attribute { name, value: StrTendril::new() });
    }
}

impl TokenSink for Builder<'_> {
    type Handle = NodeId;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<NodeId> {
        let sink = &self.builder.sink;
        let is_text = match &mut token {
            Token::ParseError(_) => return TokenSinkResult::Continue,
            Token::CharacterTokens(text) => {
                let placed = sink.cursor.borrow_mut().pass_text(text);
                sink.texts.borrow_mut().push_back((text.clone(), placed));
                true
            }
            Token::NullCharacterToken => {
                sink.cursor.borrow_mut().pass_nul();
                true
            }
            Token::TagToken(tag) => {
                sink.cursor.borrow_mut().pass_tag(&tag.name);
                simplify(tag, self.is_after_pre.get());
                self.is_after_pre.set(tag.name == local_name!("pre"));
                false
            }
            Token::CommentToken(_) => {
                sink.cursor.borrow_mut().pass_declaration();
                return TokenSinkResult::Continue;
            }
            Token::DoctypeToken(_) => {
                sink.cursor.borrow_mut().pass_declaration();
                false
            }
            Token::EOFToken => false,
        };
        if sink.is_spent() {
            sink.texts.borrow_mut().clear();
            return TokenSinkResult::Continue;
        }
        let result = self.builder.process_token(token, line);
        if !is_text {
            // By now, text that had to wait (inside a table) has its place; the parser dropped the rest.
            sink.texts.borrow_mut().clear();
        }
        match result {
            // Scripts are not run, and the text is already decoded.
            TokenSinkResult::Script(_) | TokenSinkResult::EncodingIndicator(_) => {
                TokenSinkResult::Continue
            }
            result => result,
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Moves the builder's nodes into the tree.
struct Sink<'a> {
    tree: RefCell<Tree>,
    cursor: RefCell<Cursor<'a>>,
    source: &'a str,
    /// Text tokens not yet in the tree, in order.
    texts: RefCell<VecDeque<(StrTendril, Text)>>,
    work: Cell<usize>,
    budget: usize,
}

impl<'a> Sink<'a> {
    fn new(source: &'a str, budget: usize) -> Self {
        Sink {
            tree: RefCell::new(Tree::new()),
            cursor: RefCell::new(Cursor::new(source)),
            source,
            texts: RefCell::default(),
            work: Cell::new(0),
            budget,
        }
    }

    fn is_spent(&self) -> bool {
        self.work.get() > self.budget
    }

    fn count(&self, work: usize) {
        self.work.set(self.work.get() + work);
    }

    /// Returns the place of a text that the builder adds. The builder adds tokens in order, whole or in parts, and
    /// drops some.
    fn placed(&self, text: StrTendril) -> Text {
        let mut texts = self.texts.borrow_mut();
        while let Some((token, placed)) = texts.front_mut() {
            let Some(start) = memchr::memmem::find(token.as_bytes(), text.as_bytes()) else {
                texts.pop_front();
                continue;
            };
            let end = start + text.len();
            let out = match placed {
                Text::Verbatim(range) => {
                    let out = Text::Verbatim(range.start + start..range.start + end);
                    range.start += end;
                    out
                }
                Text::Replaced(_, range) => Text::Replaced(text, range.clone()),
            };
            // The rest of a token that was added in part stays for the next call.
            if end == token.len() {
                texts.pop_front();
            } else {
                token.pop_front(end as u32);
            }
            return out;
        }
        // Nothing in the source corresponds to it: a NUL in foreign content.
        Text::Replaced(text, self.source.len()..self.source.len())
    }

    fn node_of(&self, child: NodeOrText<NodeId>) -> NodeId {
        match child {
            NodeOrText::AppendNode(id) => id,
            NodeOrText::AppendText(text) => {
                let text = self.placed(text);
                self.tree.borrow_mut().create(Data::Text(text))
            }
        }
    }
}

impl TreeSink for Sink<'_> {
    type Handle = NodeId;
    type Output = Tree;
    type ElemName<'n>
        = Ref<'n, QualName>
    where
        Self: 'n;

    fn finish(self) -> Tree {
        self.tree.into_inner()
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        NodeId::ROOT
    }

    fn elem_name<'n>(&'n self, target: &'n NodeId) -> Ref<'n, QualName> {
        self.count(1);
        Ref::map(self.tree.borrow(), |tree| {
            let element = tree.element(*target);
            &element.expect("the tree builder asks for the names of elements only").name
        })
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, _: ElementFlags) -> NodeId {
        self.count(WORK_PER_ELEMENT);
        self.tree.borrow_mut().create(Data::Element(Element::new(name, attrs)))
    }

    fn create_comment(&self, _text: StrTendril) -> NodeId {
        self.tree.borrow_mut().create(Data::Other)
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> NodeId {
        self.tree.borrow_mut().create(Data::Other)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        let child = self.node_of(child);
        self.tree.borrow_mut().append(*parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        previous: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        let has_parent = self.tree.borrow().parent(*element).is_some();
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        // Templates are never read, so their contents may be in the template itself.
        *target
    }

    fn same_node(&self, x: &NodeId, y: &NodeId) -> bool {
        self.count(1);
        x == y
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        let child = self.node_of(child);
        self.tree.borrow_mut().insert_before(*sibling, child);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attrs: Vec<Attribute>) {
        let mut tree = self.tree.borrow_mut();
        let Some(element) = tree.element_mut(*target) else { return };
        self.count(attrs.len() * element.attrs.len());
        for attr in attrs {
            if !element.attrs.iter().any(|old| old.name == attr.name)
                && element.attrs.len() < MAX_ATTRIBUTES
            {
                element.attrs.push(attr);
            }
        }
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.tree.borrow_mut().detach(*target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        let n_moved = self.tree.borrow_mut().move_children(*node, *new_parent);
        self.count(n_moved);
    }
}
