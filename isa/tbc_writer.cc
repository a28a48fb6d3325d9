// Puts the sections together and signs them with checksums; and the identity, which is computed from the same bytes.
#include <sodium.h>
#include <zstd.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "isa/tbc.h"
#include "isa/tbc_bytes.h"
#include "isa/tbc_container.h"
#include "isa/tbc_encode.h"
#include "isa/tbc_format.h"

namespace tilevm::isa {
namespace {

struct Section {
  SectionId id;
  uint32_t flags;
  std::string bytes;
};

std::string EncodeFunctions(const EncodedProgram& program) {
  ByteWriter count;
  count.Varint(program.function_headers.size());
  std::string bytes = count.bytes();
  for (size_t i = 0; i < program.function_headers.size(); ++i) {
    ByteWriter length;
    length.Varint(program.function_code[i].size());
    bytes += program.function_headers[i] + length.bytes();
  }
  return bytes;
}

std::string EncodeFiles(const Module& module) {
  ByteWriter out;
  out.Varint(module.files.size());
  for (const SourceFile& file : module.files) out.Text(file.name);
  for (const Unit& unit : module.units) out.Varint(unit.file);
  return out.bytes();
}

std::string EncodeSource(const Module& module) {
  ByteWriter out;
  for (const SourceFile& file : module.files) out.Text(file.text);
  return out.bytes();
}

// The content compressed if that makes it smaller by a quarter.
Section SourceSection(const Module& module, bool compress) {
  Section section{SectionId::kSource, kFlagSkippable, EncodeSource(module)};
  if (!compress) return section;
  ByteWriter length;
  length.Varint(section.bytes.size());
  std::string frame(ZSTD_compressBound(section.bytes.size()), '\0');
  size_t size = ZSTD_compress(frame.data(), frame.size(), section.bytes.data(), section.bytes.size(), 3);
  if (ZSTD_isError(size) != 0 || size + length.size() > section.bytes.size() / 4 * 3) return section;
  frame.resize(size);
  section.flags |= kFlagCompressed;
  section.bytes = length.bytes() + frame;
  return section;
}

size_t SourceBytes(const Module& module) {
  size_t bytes = 0;
  for (const SourceFile& file : module.files) bytes += file.text.size();
  return bytes;
}

using Hash = std::array<uint8_t, 32>;

Hash Sha256(absl::string_view bytes) {
  Hash hash;
  crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return hash;
}

}  // namespace

std::string WriteTbc(const Module& module, const WriteOptions& options) {
  EncodedProgram program = EncodeProgram(module);
  std::string code;
  for (const std::string& function : program.function_code) code += function;
  std::vector<Section> sections;
  sections.push_back({SectionId::kStrings, 0, program.strings});
  sections.push_back({SectionId::kConstants, 0, program.constants});
  sections.push_back({SectionId::kFunctions, 0, EncodeFunctions(program)});
  sections.push_back({SectionId::kCode, 0, std::move(code)});
  sections.push_back({SectionId::kUnits, 0, program.units});
  if (options.debug) {
    sections.push_back({SectionId::kFiles, kFlagSkippable, EncodeFiles(module)});
    sections.push_back({SectionId::kPlaces, kFlagSkippable, EncodePlaces(module)});
    size_t source_bytes = SourceBytes(module);
    if (options.source && source_bytes > 0 && source_bytes < kMaxSourceBytes / 2) {
      sections.push_back(SourceSection(module, options.compress_source));
    }
  }
  std::vector<ContainerSection> views;
  for (const Section& section : sections) views.push_back({static_cast<uint32_t>(section.id), section.flags, 0, section.bytes});
  return WriteContainer(views);
}

std::string ProgramIdentity::ToHex() const {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

ProgramIdentity Identity(const Module& module) {
  EncodedProgram program = EncodeProgram(module);
  ByteWriter out;
  auto add = [&out](SectionId id, absl::string_view bytes) {
    out.Fixed(static_cast<uint32_t>(id), 4);
    out.Fixed(bytes.size(), 8);
    for (uint8_t byte : Sha256(bytes)) out.U8(byte);
  };
  for (char c : absl::string_view("tilevm program 1")) out.U8(static_cast<uint8_t>(c));
  add(SectionId::kStrings, program.strings);
  add(SectionId::kConstants, program.constants);
  for (size_t i = 0; i < program.function_code.size(); ++i) {
    add(SectionId::kFunctions, program.function_headers[i]);
    add(SectionId::kCode, program.function_code[i]);
  }
  add(SectionId::kUnits, program.units);
  return ProgramIdentity{Sha256(out.bytes())};
}

}  // namespace tilevm::isa
