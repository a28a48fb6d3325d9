// Parameter lists of functions and lambdas, argument lists of calls and classes.
#include <set>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "frontends/triton/parser_impl.h"

namespace tilevm::triton {

// Up to `end` (`)` of a def, `:` of a lambda), which is not consumed. Only a def has annotations.
bool Parser::ParseParameters(TokenKind end, std::vector<Parameter>* parameters) {
  const bool annotated = end == TokenKind::kRParen;
  bool keyword_only = false;
  bool saw_slash = false;
  Span bare_star;
  while (!At(end)) {
    Parameter parameter;
    if (At(TokenKind::kSlash)) {
      const Span slash = Next().span;
      if (parameters->empty()) return Fail(slash, "at least one argument must precede /"), false;
      if (saw_slash) return Fail(slash, "/ may appear only once"), false;
      if (keyword_only) return Fail(slash, "/ must be ahead of *"), false;
      saw_slash = true;
      for (Parameter& earlier : *parameters) earlier.kind = Parameter::kPositionalOnly;
    } else if (At(TokenKind::kStar) && (Peek(1).kind == TokenKind::kComma || Peek(1).kind == end)) {
      bare_star = Next().span;
      if (keyword_only) return Fail(bare_star, "* argument may appear only once"), false;
      if (At(end)) return Fail(bare_star, "named arguments must follow bare *"), false;
      keyword_only = true;
    } else {
      parameter.kind = keyword_only ? Parameter::kKeywordOnly : Parameter::kNormal;
      if (At(TokenKind::kStar)) {
        const Span star = Next().span;
        if (keyword_only) return Fail(star, "* argument may appear only once"), false;
        parameter.kind = Parameter::kVarArgs;
        keyword_only = true;
      } else if (Accept(TokenKind::kDoubleStar)) {
        parameter.kind = Parameter::kVarKeywords;
      }
      if (!At(TokenKind::kName)) return FailHere(), false;
      const Token& name = Next();
      parameter.name = name.text;
      parameter.span = name.span;
      if (annotated && Accept(TokenKind::kColon)) {
        parameter.annotation = parameter.kind == Parameter::kVarArgs ? ParseStarOrNamed() : ParseExpression();
        if (parameter.annotation == nullptr) return false;
      }
      if (At(TokenKind::kEqual)) {
        const Span equal = Next().span;
        if (parameter.kind == Parameter::kVarArgs) return Fail(equal, "var-positional argument cannot have default value"), false;
        if (parameter.kind == Parameter::kVarKeywords) return Fail(equal, "var-keyword argument cannot have default value"), false;
        if (At(TokenKind::kComma) || At(end)) return Fail(equal, "expected default value expression"), false;
        if ((parameter.default_value = ParseExpression()) == nullptr) return false;
      }
      parameters->push_back(parameter);
      if (parameter.kind == Parameter::kVarKeywords) {
        Accept(TokenKind::kComma);
        if (!At(end)) {
          if (At(TokenKind::kName)) return Fail(Peek().span, "arguments cannot follow var-keyword argument"), false;
          return FailHere(), false;
        }
        break;
      }
    }
    if (!Accept(TokenKind::kComma)) break;
  }
  if (bare_star.line != 0 && (parameters->empty() || (parameters->back().kind != Parameter::kKeywordOnly &&
                                                      parameters->back().kind != Parameter::kVarKeywords))) {
    return Fail(bare_star, "named arguments must follow bare *"), false;
  }
  return CheckParameters(*parameters);
}

bool Parser::CheckParameters(const std::vector<Parameter>& parameters) {
  absl::flat_hash_set<absl::string_view> names;
  bool saw_default = false;
  for (const Parameter& parameter : parameters) {
    if (!names.insert(parameter.name).second) {
      return Fail(parameter.span, absl::StrCat("duplicate argument '", parameter.name, "' in function definition")), false;
    }
    if (parameter.kind != Parameter::kPositionalOnly && parameter.kind != Parameter::kNormal) continue;
    if (parameter.default_value != nullptr) {
      saw_default = true;
    } else if (saw_default) {
      return Fail(parameter.span, "parameter without a default follows parameter with a default"), false;
    }
  }
  return true;
}

// From `(` to past `)`.
bool Parser::ParseArguments(std::vector<Argument>* arguments) {
  Next();
  absl::flat_hash_set<absl::string_view> names;
  bool saw_keyword = false;
  bool saw_double_star = false;
  while (!At(TokenKind::kRParen)) {
    if (!ParseArgument(arguments, &saw_keyword, &saw_double_star)) return false;
    const Argument& last = arguments->back();
    if (!last.name.empty() && !names.insert(last.name).second) {
      return Fail(last.span, absl::StrCat("keyword argument repeated: ", last.name)), false;
    }
    if (!Accept(TokenKind::kComma)) break;
  }
  if (!ExpectCloser(TokenKind::kRParen)) return false;
  for (const Argument& argument : *arguments) {
    const auto* comp = As<ComprehensionExpr>(argument.value);
    const bool bare_generator = comp != nullptr && comp->comp_kind == CompKind::kGenerator && !comp->parenthesized;
    if (bare_generator && arguments->size() > 1) return Fail(argument.span, "Generator expression must be parenthesized"), false;
  }
  return true;
}

bool Parser::ParseArgument(std::vector<Argument>* arguments, bool* saw_keyword, bool* saw_double_star) {
  Argument argument;
  const Span start = Peek().span;
  if (At(TokenKind::kName) && Peek(1).kind == TokenKind::kEqual) {
    argument.name = Next().text;
    Next();
    if (At(TokenKind::kComma) || At(TokenKind::kRParen)) return Fail(last_, "expected argument value expression"), false;
    argument.value = ParseExpression();
    *saw_keyword = true;
  } else if (Accept(TokenKind::kDoubleStar)) {
    argument.double_star = true;
    argument.value = ParseExpression();
    *saw_double_star = true;
  } else if (At(TokenKind::kStar)) {
    Next();
    Expr* value = ParseExpression();
    if (value == nullptr) return false;
    auto* starred = tree_->Make<StarredExpr>(SpanSince(start));
    starred->value = value;
    argument.value = Finish(starred);
    if (*saw_double_star) return Fail(start, "iterable argument unpacking follows keyword argument unpacking"), false;
  } else {
    argument.value = ParseNamedExpression();
    if (argument.value != nullptr && AtComprehension()) {
      argument.value = ParseComprehensionAfter(start, CompKind::kGenerator, argument.value, nullptr);
      if (argument.value != nullptr) {
        argument.value->span = SpanSince(start);
        argument.value = Finish(argument.value);
      }
    }
    if (argument.value == nullptr) return false;
    if (At(TokenKind::kEqual)) {
      return Fail(argument.value->span, "expression cannot contain assignment, perhaps you meant \"==\"?"), false;
    }
    if (*saw_double_star) return Fail(start, "positional argument follows keyword argument unpacking"), false;
    if (*saw_keyword) return Fail(start, "positional argument follows keyword argument"), false;
  }
  if (argument.value == nullptr) return false;
  argument.span = SpanSince(start);
  arguments->push_back(argument);
  return true;
}

}  // namespace tilevm::triton
