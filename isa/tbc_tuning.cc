#include "isa/tbc_tuning.h"

#include <algorithm>

#include "isa/status.h"
#include "isa/tbc_bytes.h"
#include "isa/tbc_container.h"

namespace tilevm::isa {
namespace {

// Count, then key and configuration of each, keys ascending.
absl::StatusOr<TuningResults> Decode(const ContainerSection& section) {
  ByteReader reader(section.bytes, section.offset);
  TuningResults results;
  std::string last;
  const uint64_t count = reader.Count(2, "results of tuning");
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    std::string key(reader.Text());
    if (i > 0 && key <= last) reader.Fail("results of tuning out of order");
    results[key] = std::string(reader.Text());
    last = std::move(key);
  }
  if (reader.ok() && reader.left() != 0) reader.Fail("bytes after the results of tuning");
  if (!reader.ok()) return reader.status();
  return results;
}

std::string Encode(const TuningResults& results) {
  ByteWriter out;
  out.Varint(results.size());
  for (const auto& [key, config] : results) {
    out.Text(key);
    out.Text(config);
  }
  return out.bytes();
}

}  // namespace

absl::StatusOr<TuningResults> ReadTuning(absl::string_view tbc) {
  TILEVM_ASSIGN_OR_RETURN(const Container container, ReadContainer(tbc));
  const ContainerSection* section = container.Find(SectionId::kTuning);
  if (section == nullptr) return TuningResults();
  return Decode(*section);
}

absl::StatusOr<std::string> AddTuning(absl::string_view tbc, const TuningResults& results) {
  TILEVM_ASSIGN_OR_RETURN(Container container, ReadContainer(tbc));
  TILEVM_ASSIGN_OR_RETURN(TuningResults all, ReadTuning(tbc));
  for (const auto& [key, config] : results) all[key] = config;
  const std::string bytes = Encode(all);
  auto place = std::find_if(container.sections.begin(), container.sections.end(),
                            [](const ContainerSection& s) { return s.id >= static_cast<uint32_t>(SectionId::kTuning); });
  if (place == container.sections.end() || place->id != static_cast<uint32_t>(SectionId::kTuning)) place = container.sections.insert(place, ContainerSection());
  *place = {static_cast<uint32_t>(SectionId::kTuning), kFlagSkippable, 0, bytes};
  return WriteContainer(container.sections);
}

}  // namespace tilevm::isa
