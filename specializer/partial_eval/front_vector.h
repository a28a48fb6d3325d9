// A vector that also grows and shrinks at its front: what lists and tuples hold, so that `queue.pop(0)` and `list.insert(0, x)` cost what they cost in
// Python or less.
//
// The items lie in one piece behind a gap of empty ones. A change in the first half moves what is in front of it, one in the second half what is behind;
// a gap that has become larger than what follows it is closed before the piece grows.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_FRONT_VECTOR_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_FRONT_VECTOR_H_

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace tilevm::specializer {

template <typename T>
class FrontVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  FrontVector() = default;
  FrontVector(std::vector<T> items) : all_(std::move(items)) {}
  FrontVector(std::initializer_list<T> items) : all_(items) {}
  FrontVector(const FrontVector& other) : all_(other.begin(), other.end()) {}
  FrontVector(FrontVector&& other) noexcept : all_(std::move(other.all_)), gap_(std::exchange(other.gap_, 0)) { other.all_.clear(); }
  FrontVector& operator=(FrontVector other) noexcept {
    all_.swap(other.all_);
    std::swap(gap_, other.gap_);
    return *this;
  }

  size_t size() const { return all_.size() - gap_; }
  bool empty() const { return size() == 0; }
  size_t capacity() const { return all_.capacity(); }
  T* data() { return all_.data() + gap_; }
  const T* data() const { return all_.data() + gap_; }
  iterator begin() { return data(); }
  iterator end() { return all_.data() + all_.size(); }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return all_.data() + all_.size(); }
  T& operator[](size_t i) { return all_[gap_ + i]; }
  const T& operator[](size_t i) const { return all_[gap_ + i]; }
  const T& front() const { return all_[gap_]; }
  const T& back() const { return all_.back(); }
  std::vector<T> ToVector() const { return std::vector<T>(begin(), end()); }

  void push_back(T item) {
    if (all_.size() == all_.capacity() && gap_ > size()) CloseGap();
    all_.push_back(std::move(item));
  }
  void insert(size_t at, T item) {
    if (at >= size() - at) {
      all_.insert(all_.begin() + static_cast<ptrdiff_t>(gap_ + at), std::move(item));
      return;
    }
    if (gap_ == 0) OpenGap();
    --gap_;
    std::move(begin() + 1, begin() + 1 + at, begin());
    (*this)[at] = std::move(item);
  }
  // Items [first, last) give way to others.
  void replace(size_t first, size_t last, const std::vector<T>& items) {
    erase(first, last);
    all_.insert(all_.begin() + static_cast<ptrdiff_t>(gap_ + first), items.begin(), items.end());
  }
  void append(const T* first, const T* last) { all_.insert(all_.end(), first, last); }
  void erase(size_t at) { erase(at, at + 1); }
  void erase(size_t first, size_t last) {
    const size_t count = last - first;
    if (first >= size() - last) {
      all_.erase(all_.begin() + static_cast<ptrdiff_t>(gap_ + first), all_.begin() + static_cast<ptrdiff_t>(gap_ + last));
      return;
    }
    std::move_backward(begin(), begin() + first, begin() + last);
    std::fill(begin(), begin() + count, T());
    gap_ += count;
  }
  void clear() {
    all_.clear();
    gap_ = 0;
  }

 private:
  void CloseGap() {
    all_.erase(all_.begin(), all_.begin() + static_cast<ptrdiff_t>(gap_));
    gap_ = 0;
  }
  void OpenGap() {
    const size_t gap = size() / 2 + 8;
    std::vector<T> wider;
    wider.reserve(gap + size() + size() / 8);
    wider.resize(gap);
    wider.insert(wider.end(), std::make_move_iterator(all_.begin()), std::make_move_iterator(all_.end()));
    all_ = std::move(wider);
    gap_ = gap;
  }

  std::vector<T> all_;
  size_t gap_ = 0;
};

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_FRONT_VECTOR_H_
