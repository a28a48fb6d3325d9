// Decodes pools, function headers, units, files, places and source text.
#include "isa/tbc_decode.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "isa/tbc_format.h"
#include "isa/verifier.h"

namespace tilevm::isa {
namespace {

// Registers cost memory but may cost no bytes (the results of an unpack); a file may define this many beyond its bytes.
constexpr int64_t kFreeRegisters = 1 << 16;
// Names are copied where they are referred to; many references to one long text must not add up.
constexpr uint64_t kFreeTextBytes = 1 << 20;
constexpr uint64_t kTextBytesPerFileByte = 16;

class ProgramDecoder {
 public:
  explicit ProgramDecoder(const Container& container) : container_(container) {
    for (const ContainerSection& section : container.sections) text_bytes_left_ += kTextBytesPerFileByte * section.bytes.size();
  }

  absl::StatusOr<DecodedProgram> Run() {
    TILEVM_RETURN_IF_ERROR(Semantic(SectionId::kStrings, &ProgramDecoder::Strings));
    TILEVM_RETURN_IF_ERROR(Semantic(SectionId::kConstants, &ProgramDecoder::Constants));
    TILEVM_RETURN_IF_ERROR(Semantic(SectionId::kFunctions, &ProgramDecoder::FunctionHeaders));
    TILEVM_RETURN_IF_ERROR(Code());
    TILEVM_RETURN_IF_ERROR(Semantic(SectionId::kUnits, &ProgramDecoder::Units));
    if (const ContainerSection* configs = container_.Find(SectionId::kConfigs); configs != nullptr) {
      return absl::UnimplementedError("this release reads no configs section");
    }
    const ContainerSection* code = container_.Find(SectionId::kCode);
    if (absl::Status status = VerifyModule(module()); !status.ok()) return DamagedAt(code->offset, status.message());
    TILEVM_RETURN_IF_ERROR(Strippable(SectionId::kFiles, &ProgramDecoder::Files));
    TILEVM_RETURN_IF_ERROR(Strippable(SectionId::kPlaces, &ProgramDecoder::Places));
    TILEVM_RETURN_IF_ERROR(Strippable(SectionId::kSource, &ProgramDecoder::Source));
    return std::move(decoded_);
  }

 private:
  using Decode = void (ProgramDecoder::*)(ByteReader&);

  Module& module() { return decoded_.module; }

  absl::Status DecodeSection(const ContainerSection& section, absl::string_view bytes, Decode decode) {
    ByteReader reader(bytes, section.offset);
    (this->*decode)(reader);
    if (reader.ok() && reader.left() != 0) reader.Fail("bytes after the end of the section");
    return reader.status();
  }

  absl::Status Semantic(SectionId id, Decode decode) {
    const ContainerSection* section = container_.Find(id);
    if (section == nullptr) return DamagedAt(kHeaderBytes, absl::StrCat("there is no ", SectionName(static_cast<uint32_t>(id)), " section"));
    return DecodeSection(*section, section->bytes, decode);
  }

  absl::Status Strippable(SectionId id, Decode decode) {
    const ContainerSection* section = container_.Find(id);
    if (section == nullptr) return absl::OkStatus();
    TILEVM_ASSIGN_OR_RETURN(std::string content, SectionContent(*section));
    return DecodeSection(*section, content, decode);
  }

  void Strings(ByteReader& reader) {
    size_t count = reader.Count(1, "strings");
    for (size_t i = 0; i < count && reader.ok(); ++i) strings_.push_back(module().InternString(reader.Text()));
  }

  StringId String(ByteReader& reader) {
    uint32_t id = reader.Id(strings_.size(), "string");
    return reader.ok() ? strings_[id] : 0;
  }
  std::string StringText(ByteReader& reader) {
    StringId id = String(reader);
    if (!reader.ok()) return std::string();
    const std::string& text = module().strings[id];
    if (text.size() > text_bytes_left_) {
      reader.Fail("too many references to long texts for a file of this size");
      return std::string();
    }
    text_bytes_left_ -= text.size();
    return text;
  }

  void Constants(ByteReader& reader) {
    size_t count = reader.Count(1, "constants");
    for (size_t i = 0; i < count && reader.ok(); ++i) constants_.push_back(module().InternConstant(ReadConstant(reader)));
  }

  Constant ReadConstant(ByteReader& reader) {
    Constant constant;
    uint8_t kind = reader.U8();
    if (kind > static_cast<uint8_t>(Constant::Kind::kBuiltin)) {
      reader.Fail("a constant of unknown kind");
      return constant;
    }
    constant.kind = static_cast<Constant::Kind>(kind);
    switch (constant.kind) {
      case Constant::Kind::kNone:
      case Constant::Kind::kEllipsis: break;
      case Constant::Kind::kBool: constant.int_value = reader.Id(2, "bool"); break;
      case Constant::Kind::kInt: constant.int_value = ReadInt(reader); break;
      case Constant::Kind::kFloat: {
        uint64_t bits = reader.Fixed(8);
        std::memcpy(&constant.float_value, &bits, sizeof(bits));
        break;
      }
      case Constant::Kind::kString:
      case Constant::Kind::kBuiltin: constant.string_value = StringText(reader); break;
      case Constant::Kind::kDType: {
        std::optional<DType> dtype = DTypeFromCode(reader.U8());
        if (!dtype.has_value()) reader.Fail("unknown dtype");
        constant.dtype = dtype.value_or(DType::kI32);
        break;
      }
    }
    return constant;
  }

  static absl::int128 ReadInt(ByteReader& reader) {
    size_t size = reader.U8();
    if (size < 1 || size > 16) {
      reader.Fail("an int of no known size");
      return 0;
    }
    absl::uint128 bits = 0;
    uint8_t last = 0, before = 0;
    for (size_t i = 0; i < size; ++i) {
      before = last;
      last = reader.U8();
      bits |= absl::uint128(last) << (8 * i);
    }
    bool spare = size > 1 && ((last == 0 && before < 0x80) || (last == 0xff && before >= 0x80));
    if (spare) reader.Fail("an int in a longer form than needed");
    if (last >= 0x80 && size < 16) bits |= ~absl::uint128(0) << (8 * size);
    return static_cast<absl::int128>(bits);
  }

  void FunctionHeaders(ByteReader& reader) {
    size_t count = reader.Count(6, "functions");
    for (size_t i = 0; i < count && reader.ok(); ++i) {
      Function function;
      uint8_t kind = reader.U8();
      if (kind > static_cast<uint8_t>(FunctionKind::kCell)) reader.Fail("a function of unknown kind");
      function.kind = static_cast<FunctionKind>(kind);
      function.unit = reader.Id(kMaxUnits, "unit");
      function.name = StringText(reader);
      size_t captures = reader.Count(1, "captures");
      for (size_t k = 0; k < captures && reader.ok(); ++k) function.captures.push_back(String(reader));
      size_t params = reader.Count(2, "parameters");
      for (size_t k = 0; k < params && reader.ok(); ++k) function.params.push_back(ReadParam(reader));
      decoded_.code.push_back(CodeRange{0, reader.Varint()});
      module().functions.push_back(std::move(function));
    }
  }

  Param ReadParam(ByteReader& reader) {
    Param param;
    uint8_t flags = reader.U8();
    if (flags >= 64 || (flags & 7) > static_cast<uint8_t>(ParamKind::kVarKeywords)) reader.Fail("a parameter of unknown kind");
    param.kind = static_cast<ParamKind>(flags & 7);
    param.is_constexpr = (flags & 8) != 0;
    param.has_default = (flags & 16) != 0;
    param.name = StringText(reader);
    if ((flags & 32) != 0) param.annotation = StringText(reader);
    return param;
  }

  absl::Status Code() {
    const ContainerSection* section = container_.Find(SectionId::kCode);
    if (section == nullptr) return DamagedAt(kHeaderBytes, "there is no code section");
    DecodeContext context{strings_, constants_, module().functions.size(), kFreeRegisters + 8 * static_cast<int64_t>(section->bytes.size())};
    for (const Function& function : module().functions) {
      context.registers_left += static_cast<int64_t>(function.captures.size() + function.params.size());
    }
    uint64_t pos = 0;
    for (size_t i = 0; i < decoded_.code.size(); ++i) {
      CodeRange& range = decoded_.code[i];
      if (range.length > section->bytes.size() - pos) return DamagedAt(section->offset + pos, "code that is longer than its section");
      range.offset = section->offset + pos;
      ByteReader reader(section->bytes.substr(pos, range.length), range.offset);
      TILEVM_RETURN_IF_ERROR(DecodeCode(reader, context, module(), module().functions[i]));
      pos += range.length;
    }
    if (pos != section->bytes.size()) return DamagedAt(section->offset + pos, "code that belongs to no function");
    return absl::OkStatus();
  }

  void Units(ByteReader& reader) {
    size_t count = reader.Count(3, "units");
    for (size_t i = 0; i < count && reader.ok(); ++i) {
      Unit unit;
      unit.name = StringText(reader);
      size_t imports = reader.Count(2, "imports");
      for (size_t k = 0; k < imports && reader.ok(); ++k) {
        StringId name = String(reader);
        unit.imports.push_back(Import{name, String(reader)});
      }
      size_t cells = reader.Count(2, "cells");
      for (size_t k = 0; k < cells && reader.ok(); ++k) {
        Cell cell;
        cell.function = reader.Id(module().functions.size(), "function");
        size_t defines = reader.Count(1, "names");
        for (size_t d = 0; d < defines && reader.ok(); ++d) cell.defines.push_back(String(reader));
        unit.cells.push_back(std::move(cell));
      }
      module().units.push_back(std::move(unit));
    }
  }

  void Files(ByteReader& reader) {
    size_t count = reader.Count(1, "files");
    for (size_t i = 0; i < count && reader.ok(); ++i) module().files.push_back(SourceFile{std::string(reader.Text()), ""});
    for (Unit& unit : module().units) unit.file = reader.Id(std::max<size_t>(count, 1), "file");
  }

  // The inverse of EncodePlaces.
  void Places(ByteReader& reader) {
    last_ = Loc{0, 0, 0};
    for (Function& function : module().functions) {
      ReadPlace(reader, function.loc);
      for (Param& param : function.params) ReadPlace(reader, param.loc);
      RegionPlaces(reader, function.body);
    }
  }

  void RegionPlaces(ByteReader& reader, Region& region) {
    for (Inst& inst : region.body) {
      ReadPlace(reader, inst.loc);
      for (Region& inner : inst.regions) RegionPlaces(reader, inner);
    }
  }

  void ReadPlace(ByteReader& reader, Loc& loc) {
    uint64_t packed = reader.Varint();
    if (!reader.ok() || packed == 0) return;
    packed -= 1;
    uint64_t zigzag = packed >> 1;
    int64_t line = last_.line + static_cast<int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
    if ((packed & 1) != 0) last_.file = static_cast<int32_t>(reader.Id(module().files.size() + 1, "file")) - 1;
    last_.col = static_cast<int32_t>(reader.Id(INT32_MAX, "column"));
    if (line < 1 || line > INT32_MAX) {
      reader.Fail("a place of no line");
      return;
    }
    last_.line = static_cast<int32_t>(line);
    loc = last_;
  }

  void Source(ByteReader& reader) {
    for (SourceFile& file : module().files) file.text = std::string(reader.Text());
  }

  const Container& container_;
  DecodedProgram decoded_;
  uint64_t text_bytes_left_ = kFreeTextBytes;
  std::vector<StringId> strings_;
  std::vector<ConstantId> constants_;
  Loc last_;
};

}  // namespace

absl::StatusOr<DecodedProgram> DecodeProgram(const Container& container) { return ProgramDecoder(container).Run(); }

}  // namespace tilevm::isa
