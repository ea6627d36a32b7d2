// Messages as the C API has them.
#include "capi/messages.h"

#include <memory>

namespace lemma::capi {

static const lemma_note* to_c(Arena& arena, const Note& note) {
  return arena.make<lemma_note>({.label = arena.text(note.label), .text = arena.text(note.text)});
}

const lemma_repair* to_c(Arena& arena, const Repair& repair) {
  return arena.make<lemma_repair>({.line = repair.line,
                                   .column = repair.column,
                                   .length = repair.length,
                                   .text = arena.text(repair.text)});
}

const lemma_message* to_c(Arena& arena, const Message& message) {
  auto* made = arena.make<lemma_message>();
  made->severity = to_c(message.severity);
  made->id = arena.text(message.id);
  made->text = arena.text(message.text);
  made->file = arena.text(message.file);
  made->line = message.line;
  made->column = message.column;
  made->length = message.length;
  list(arena, message.notes, made->note_count, made->notes);
  list(arena, message.repairs, made->repair_count, made->repairs);
  made->rendered = arena.text(message.rendered);
  return made;
}

const lemma_text* to_c(Arena& arena, std::string_view text) {
  return arena.make<lemma_text>({.text = arena.text(text), .size = text.size()});
}

const lemma_text* text_tree(std::string_view text) {
  auto tree = std::make_unique<Tree<lemma_text>>();
  tree->text = tree->arena.text(text);
  tree->size = text.size();
  return tree.release();
}

} // namespace lemma::capi
