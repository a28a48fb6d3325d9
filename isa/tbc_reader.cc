// The doors of the reader: a whole module, or what `tilevm info` shows of a file.
#include "isa/tbc.h"
#include "isa/tbc_container.h"
#include "isa/tbc_decode.h"

namespace tilevm::isa {

bool LooksLikeTbc(absl::string_view bytes) { return bytes.substr(0, 4) == absl::string_view(reinterpret_cast<const char*>(kTbcMagic), 4); }

absl::StatusOr<Module> ReadTbc(absl::string_view bytes) {
  TILEVM_ASSIGN_OR_RETURN(Container container, ReadContainer(bytes));
  TILEVM_ASSIGN_OR_RETURN(DecodedProgram program, DecodeProgram(container));
  return std::move(program.module);
}

absl::StatusOr<TbcInfo> InspectTbc(absl::string_view bytes) {
  TILEVM_ASSIGN_OR_RETURN(Container container, ReadContainer(bytes));
  TILEVM_ASSIGN_OR_RETURN(DecodedProgram program, DecodeProgram(container));
  TbcInfo info;
  info.major_version = container.major_version;
  info.minor_version = container.minor_version;
  info.file_bytes = bytes.size();
  for (const ContainerSection& section : container.sections) {
    info.sections.push_back(TbcSection{section.id, SectionName(section.id), (section.flags & kFlagSkippable) != 0,
                                       (section.flags & kFlagCompressed) != 0, section.offset, section.bytes.size()});
  }
  for (size_t i = 0; i < program.module.functions.size(); ++i) {
    const Function& function = program.module.functions[i];
    info.functions.push_back(
        TbcFunctionInfo{function.name, function.kind, program.code[i].offset, program.code[i].length, function.reg_count});
  }
  info.identity = Identity(program.module);
  return info;
}

uint64_t TbcInfo::SectionBytes(absl::string_view name) const {
  for (const TbcSection& section : sections) {
    if (section.name == name) return section.length;
  }
  return 0;
}

}  // namespace tilevm::isa
