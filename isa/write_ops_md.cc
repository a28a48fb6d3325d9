// bazel run //isa:write_ops_md > isa/OPS.md
#include <cstdio>

#include "isa/ops_markdown.h"

int main() {
  std::string page = tilevm::isa::OpsMarkdown();
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}
