//! Whose: which documents and entries a path or an entity means, and all that is kept of them.
//!
//! In: a name; the index, the ledger and its copies, and the kept versions, each with a uid in its name. Out: uids,
//! numbers of entries, kept versions, rows; lines, paths and names of the documents, by which remains are found.
//! A kept version without a uid (from before versions had one, or of bytes that nobody had read yet) belongs to the
//! document that changed at its path next; if none did, to the one that had these bytes.
//! Invariant: the number of an entry is one document's, whichever others state it, too.

use std::collections::{BTreeMap, BTreeSet};

use index::erase::lines_of_all;
use index::store::{Gone, Identities, StoreError, is_within, removed_ms};
use jiff::Timestamp;
use model::terms::ContentHash;
use notes::entry;
use notes::resolve::name_key;

use super::{ForgetError, Named, Pending, copies, ledgers, name};
use crate::project::Project;

impl Project {
    /// Returns what the ledger, its copies and the kept versions know of documents.
    pub(super) fn identities(&self) -> Result<Identities, ForgetError> {
        let mut known = Identities::default();
        for ledger in ledgers(self)? {
            // `remove_damaged` deals with a copy that cannot be read.
            known.read(&ledger);
        }
        for version in self.notes.kept(None).unwrap_or_default() {
            if let Some(uid) = &version.uid {
                let at_ms = version.time().map_or(0, Timestamp::as_millisecond);
                known.saw(uid, &version.path, at_ms, &[]);
            }
        }
        Ok(known)
    }

    /// Returns a path as it is known, if it was typed as a list shows it. One that was forgotten means nothing else.
    pub(super) fn as_known(&self, named: Named, known: &Identities) -> Result<Named, ForgetError> {
        let Named::Path(path) = &named else { return Ok(named) };
        let several = |all| ForgetError::Several(path.clone(), all);
        for given in [path.clone(), format!("{path}.md")] {
            if removed_ms(&self.state_dir, "path", &given)?.is_some() {
                break;
            }
            if let Some(meant) = self.notes.typed(&given, known).map_err(several)? {
                return Ok(Named::Path(meant));
            }
        }
        Ok(named)
    }

    /// Adds the documents and entries that a name means.
    pub(super) fn mean(
        &self,
        named: &Named,
        known: &Identities,
        gone: &mut Gone,
    ) -> Result<(), ForgetError> {
        let (kind, text) = named.kind();
        // After its documents were forgotten, a name must not mean those that had left it by then.
        let removed_ms = removed_ms(&self.state_dir, kind, text)?;
        if let Named::Entity(entity) = named {
            gone.names.insert(entity.clone());
            let uids = self.notes_called(entity, known, removed_ms.is_none())?;
            let paths: BTreeSet<&str> = uids.iter().filter_map(|uid| known.path_of(uid)).collect();
            if paths.len() > 1 {
                let paths = paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>();
                return Err(ForgetError::Several(entity.clone(), paths.join(", ")));
            }
            gone.uids.extend(uids);
            return Ok(());
        }
        let paths = [text.to_string(), format!("{text}.md")];
        let left_after = removed_ms.unwrap_or(i64::MIN);
        let last = paths.iter().map(|path| (path, known.at(path)));
        let before = paths.iter().map(|path| (path, known.ever_at(path, left_after)));
        let mut found = last.chain(before);
        let meant = found.find(|(_, uids)| !uids.is_empty());
        let is_path = meant.is_some();
        let (path, uids) = meant.unwrap_or((&paths[0], BTreeSet::new()));
        gone.paths.insert(path.clone());
        gone.uids.extend(uids);
        let id = text.rsplit('/').next().and_then(entry::number_of).filter(|_| !is_path);
        if let Some(number) = id.filter(|it| text.ends_with(&entry::id_text(*it))) {
            gone.entries.insert(number);
            gone.uids.extend(self.entry_owners(known)?.remove(&number));
        }
        Ok(())
    }

    /// Returns the notes of the entities of this name.
    fn notes_called(
        &self,
        entity: &str,
        known: &Identities,
        or_before: bool,
    ) -> Result<BTreeSet<String>, StoreError> {
        let snapshot = self.snapshot()?;
        let mut uids = snapshot.files().uids_of_memory(&name_key(entity))?;
        uids.extend(known.called(entity, or_before && uids.is_empty()));
        Ok(uids)
    }

    fn kb_folder(&self) -> &str {
        self.settings.kb.folder.trim_matches('/')
    }

    /// Returns the number of the entry that the name of a file in the folder of entries states.
    fn number_at(&self, path: &str) -> Option<u64> {
        is_within(path, self.kb_folder()).then(|| entry::number_of(path)).flatten()
    }

    /// Returns the document of each entry: the first that was in the folder of entries with the number in its name,
    /// else the first note by path that states it. Any other note with the number is a copy, or a template.
    fn entry_owners(&self, known: &Identities) -> Result<BTreeMap<u64, String>, StoreError> {
        let mut owners = BTreeMap::new();
        for (path, uid) in known.stays_below(self.kb_folder()) {
            if let Some(number) = self.number_at(path) {
                owners.entry(number).or_insert(uid.to_string());
            }
        }
        self.snapshot()?.files().each_note(|uid, _, metadata| {
            let stated = serde_json::from_str(metadata).ok().and_then(|it| entry::of(&it).id);
            if let Some(number) = stated {
                owners.entry(number).or_insert(uid.to_string());
            }
        })?;
        Ok(owners)
    }

    /// Adds all that is kept of the documents and entries that are meant.
    pub(super) fn resolve(
        &self,
        known: &Identities,
        pending: &mut Pending,
    ) -> Result<(), ForgetError> {
        let Pending { gone, traces, .. } = pending;
        let (mut paths, mut hashes) = known.traces_of(&gone.uids);
        paths.extend(gone.paths.iter().cloned());
        let mut texts = Vec::new();
        for version in self.notes.kept(None).unwrap_or_default() {
            let uid = version.uid.as_ref().filter(|it| known.path_of(it).is_some());
            if uid.is_some_and(|it| !gone.uids.contains(it)) {
                continue;
            }
            let bytes = version.bytes()?;
            let hash = ContentHash::of(&bytes).0.to_le_bytes();
            let at_ms = version.time().map_or(0, Timestamp::as_millisecond);
            // A file that was renamed and removed before anybody read it was no document at its path.
            let is_unread =
                hashes.contains(&hash[..]) && known.owner(&version.path, at_ms, &hash).is_none();
            if uid.is_some() || is_unread || gone.holds(known, &version.path, at_ms, &hash) {
                gone.kept.insert(version.name());
                hashes.insert(hash.to_vec());
                texts.push(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        gone.entries.extend(paths.iter().filter_map(|it| self.number_at(it)));
        for ledger in ledgers(self)? {
            gone.resolve(&ledger, known, &hashes);
        }
        if !gone.entries.is_empty() {
            let owners = self.entry_owners(known)?;
            let is_own = |it: &u64| owners.get(it).is_none_or(|uid| gone.uids.contains(uid));
            gone.entries.retain(is_own);
        }
        for ledger in ledgers(self)? {
            texts.extend(gone.texts(&ledger));
        }
        gone.present.clear();
        self.each_file(&mut |path, uid, text| {
            if gone.uids.contains(uid) {
                paths.insert(path.to_string());
                gone.present.insert(uid.to_string());
                texts.push(text.to_string());
            }
        })?;
        traces.extend(lines_of_all(texts.iter().map(String::as_str)));
        // A folder's name alone may be any word.
        let paths = paths.iter().filter(|it| it.contains(['.', '/']));
        let whole = |path: &String| [path.clone(), self.root.join(path).display().to_string()];
        traces.extend(paths.flat_map(whole).chain(gone.names.iter().cloned()).map(|it| name(&it)));
        Ok(())
    }

    /// Returns what was looked for, and where, when a name means nothing.
    pub(super) fn looked_for(&self, named: &Named) -> Result<Vec<String>, ForgetError> {
        let mut found = Vec::new();
        let (_, text) = named.kind();
        if matches!(named, Named::Path(_)) {
            let path = "a document or folder that is or was at this path, with or without `.md`";
            found.extend([path.to_string(), "an entry with this id".to_string()]);
        }
        let is_entity = !self.notes_called(text, &self.identities()?, true)?.is_empty();
        let there_is = if is_entity { ": there is one, which `--entity` forgets" } else { "" };
        found.push(format!("an entity of this name{there_is}"));
        let places = "in the index, the ledger, its journal of changes, its";
        found.push(format!("{places} {} copies, and the kept versions", copies(self)?.len()));
        Ok(found)
    }
}
