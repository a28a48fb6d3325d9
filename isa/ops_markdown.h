// OPS.md: the op table as a page. Generated; a test holds the file in the tree to it.
#ifndef TILEVM_ISA_OPS_MARKDOWN_H_
#define TILEVM_ISA_OPS_MARKDOWN_H_

#include <string>

namespace tilevm::isa {

std::string OpsMarkdown();

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_OPS_MARKDOWN_H_
