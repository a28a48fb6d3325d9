// The parser's tokens and errors, and its entry point.
#include "frontends/triton/parser.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontends/triton/parser_impl.h"
#include "isa/status.h"

namespace tilevm::triton {

absl::StatusOr<Tree> Parse(std::string source, int32_t file) {
  Tree tree(std::move(source));
  TILEVM_RETURN_IF_ERROR(Parser(&tree, file).Run());
  return tree;
}

namespace {

struct OwnedName : Node {  // what a name of the tree points into where the source has no such word
  std::string text;
};

// In the body of a class a name like __x is _Class__x, as in Python: what a class keeps so is its own, whatever its subclasses keep.
void MangleNames(Tree* tree, std::vector<Token>* tokens) {
  struct Body {
    absl::string_view owner;
    size_t begin;     // the token after the colon
    int indent = -1;  // of its statements; 0: on one line
  };
  std::vector<Body> pending, open;
  int indent = 0;
  for (size_t i = 0; i < tokens->size(); ++i) {
    Token& token = (*tokens)[i];
    if (!pending.empty() && pending.back().begin == i) {
      open.push_back(pending.back());
      open.back().indent = token.kind == TokenKind::kNewline ? indent + 1 : 0;
      pending.pop_back();
    } else if (token.kind == TokenKind::kNewline) {
      while (!open.empty() && open.back().indent == 0) open.pop_back();
    }
    if (token.kind == TokenKind::kIndent) ++indent;
    if (token.kind == TokenKind::kDedent) {
      --indent;
      while (!open.empty() && open.back().indent > indent) open.pop_back();
    }
    if (token.kind == TokenKind::kClass && i + 1 < tokens->size() && (*tokens)[i + 1].kind == TokenKind::kName) {
      size_t at = i + 2;
      const auto goes_on = [&] { return at < tokens->size() && (*tokens)[at].kind != TokenKind::kColon && (*tokens)[at].kind != TokenKind::kNewline; };
      while (goes_on()) at = (*tokens)[at].match >= 0 ? static_cast<size_t>((*tokens)[at].match) : at + 1;
      absl::string_view owner = (*tokens)[i + 1].text;
      owner.remove_prefix(std::min(owner.find_first_not_of('_'), owner.size()));
      pending.push_back({owner, at + 1});
    }
    const bool is_private = token.kind == TokenKind::kName && absl::StartsWith(token.text, "__") && !absl::EndsWith(token.text, "__");
    if (!is_private || open.empty() || open.back().owner.empty()) continue;
    auto* name = tree->Make<OwnedName>(token.span);
    name->text = absl::StrCat("_", open.back().owner, token.text);
    token.text = name->text;
  }
}

}  // namespace

absl::Status Parser::Run() {
  MangleNames(tree_, &stream_.tokens);
  while (!failed() && !At(TokenKind::kEndOfFile)) ParseStatementInto(&tree_->body);
  return status_;
}

const Token& Parser::Peek(size_t ahead) const {
  const size_t last = stream_.tokens.size() - 1;
  return stream_.tokens[position_ + ahead < last ? position_ + ahead : last];
}

const Token& Parser::Next() {
  const Token& token = Peek();
  if (token.kind == TokenKind::kError) {
    Fail(stream_.error_span, stream_.error);
    return token;
  }
  if (position_ + 1 < stream_.tokens.size()) ++position_;
  const bool layout = token.kind == TokenKind::kNewline || token.kind == TokenKind::kIndent || token.kind == TokenKind::kDedent;
  if (!layout) last_ = token.span;
  return token;
}

bool Parser::Accept(TokenKind kind) {
  if (!At(kind)) return false;
  Next();
  return true;
}

bool Parser::Expect(TokenKind kind) {
  if (Accept(kind)) return true;
  if (At(TokenKind::kError)) {
    FailHere();
  } else {
    Fail(Peek().span, absl::StrCat("expected '", TokenSpelling(kind), "'"));
  }
  return false;
}

bool Parser::Enter() {
  if (++nesting_ <= kMaxNesting) return true;
  Fail(Peek().span, absl::StrCat("too many nested expressions or statements (at most ", kMaxNesting, ")"));
  return false;
}

std::nullptr_t Parser::Fail(const Span& span, absl::string_view message) {
  if (failed()) return nullptr;
  // A bracket that is never closed is the likelier cause of whatever does not fit after it.
  Span at = span;
  if (stream_.unclosed_bracket && (stream_.error_span.line < span.line ||
                                   (stream_.error_span.line == span.line && stream_.error_span.col < span.col))) {
    at = stream_.error_span;
    message = stream_.error;
  }
  status_ = InvalidAt(Loc{file_, at.line, at.col}, message);
  Token end = stream_.tokens.back();
  end.kind = TokenKind::kEndOfFile;
  stream_.tokens.back() = end;
  position_ = stream_.tokens.size() - 1;
  return nullptr;
}

std::nullptr_t Parser::FailHere() {
  const Token& token = Peek();
  switch (token.kind) {
    case TokenKind::kError: return Fail(stream_.error_span, stream_.error);
    case TokenKind::kIndent: return Fail(token.span, "unexpected indent");
    case TokenKind::kDedent: return Fail(token.span, "invalid syntax");
    case TokenKind::kEndOfFile: return Fail(token.span, "unexpected end of file");
    default: return Fail(token.span, "invalid syntax");
  }
}

}  // namespace tilevm::triton
