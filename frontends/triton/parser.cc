// The parser's tokens and errors, and its entry point.
#include "frontends/triton/parser.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontends/triton/parser_impl.h"
#include "isa/status.h"

namespace tilevm::triton {

absl::StatusOr<Tree> Parse(std::string source, int32_t file) {
  Tree tree(std::move(source));
  TILEVM_RETURN_IF_ERROR(Parser(&tree, file).Run());
  return tree;
}

absl::Status Parser::Run() {
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
