//! Flat: reads a page that is nested too deep to be built, as blocks without nesting.
//!
//! In: a source. Out: a [`Tree`] of html, body and one level of paragraphs, headings and preformatted blocks.
//! Invariant: one pass over the tokens; only text in scripts, styles and similar elements is lost.

use std::cell::RefCell;

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::{LocalName, QualName, local_name, ns};

use super::kind::Kind;
use super::parse::run;
use super::place::Cursor;
use super::tree::{Data, Element, NodeId, Tree};

/// Parses a source without its nesting.
pub(super) fn parse(source: &str) -> Tree {
    let mut tree = Tree::new();
    let [html, body] =
        [local_name!("html"), local_name!("body")].map(|name| element(&mut tree, name));
    tree.append(NodeId::ROOT, html);
    tree.append(html, body);
    let state =
        FlatState { tree, cursor: Cursor::new(source), body, block: None, next: local_name!("p") };
    run(source, FlatSink(RefCell::new(state))).0.into_inner().tree
}

fn element(tree: &mut Tree, name: LocalName) -> NodeId {
    tree.create(Data::Element(Element::new(QualName::new(None, ns!(html), name), Vec::new())))
}

struct FlatState<'a> {
    tree: Tree,
    cursor: Cursor<'a>,
    body: NodeId,
    /// The open block, once it has text.
    block: Option<NodeId>,
    /// The element of the next block.
    next: LocalName,
}

impl FlatState<'_> {
    fn block(&mut self) -> NodeId {
        if let Some(block) = self.block {
            return block;
        }
        let block = element(&mut self.tree, self.next.clone());
        self.tree.append(self.body, block);
        self.block = Some(block);
        block
    }

    fn pass_tag(&mut self, tag: &Tag) -> TokenSinkResult<NodeId> {
        self.cursor.pass_tag(&tag.name);
        let kind = Kind::of_name(&tag.name);
        let raw = raw_kind(&tag.name);
        let is_start = tag.kind == TagKind::StartTag;
        if raw.is_some() || kind.is_block() {
            self.block = None;
            self.next = match kind {
                Kind::Heading(_) | Kind::Pre | Kind::Hidden if is_start => tag.name.clone(),
                _ => local_name!("p"),
            };
        } else if kind == Kind::Break && self.block.is_some() {
            let line_break = element(&mut self.tree, local_name!("br"));
            let block = self.block();
            self.tree.append(block, line_break);
        }
        match raw {
            Some(raw) if is_start => TokenSinkResult::RawData(raw),
            _ => TokenSinkResult::Continue,
        }
    }
}

/// Returns how to tokenize the content of an element, if not as usual.
fn raw_kind(name: &str) -> Option<RawKind> {
    match name {
        "script" => Some(RawKind::ScriptData),
        "title" | "textarea" => Some(RawKind::Rcdata),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(RawKind::Rawtext),
        _ => None,
    }
}

struct FlatSink<'a>(RefCell<FlatState<'a>>);

impl TokenSink for FlatSink<'_> {
    type Handle = NodeId;

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<NodeId> {
        let mut state = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => return state.pass_tag(&tag),
            Token::CharacterTokens(text) => {
                let text = state.cursor.pass_text(&text);
                let text = state.tree.create(Data::Text(text));
                let block = state.block();
                state.tree.append(block, text);
            }
            Token::NullCharacterToken => state.cursor.pass_nul(),
            Token::CommentToken(_) | Token::DoctypeToken(_) => state.cursor.pass_declaration(),
            Token::EOFToken | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}
