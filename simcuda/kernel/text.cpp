// SPDX-License-Identifier: BSD-3-Clause
#include "text.h"

#include <bit>
#include <charconv>

namespace simcuda::kernel {
namespace {

// Not isalpha and the like, which depend on the locale.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool begins_name(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%';
}
bool goes_on(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

constexpr std::string_view pairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};

// Some modifiers begin with a digit: .2d, .32x32b.
bool is_shape(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && is_digit(text[size])) ++size;
  return size < text.size() && is_letter(text[size]) && text[size] != 'e' && text[size] != 'E';
}

}  // namespace

Word Text::take() {
  const Word word = next_;
  next_ = read();
  return word;
}

bool Text::take_if(std::string_view mark) {
  if (!next_.is(mark)) return false;
  next_ = read();
  return true;
}

bool Text::take_if_dotted(std::string_view name) {
  if (!next_.is_dotted(name)) return false;
  next_ = read();
  return true;
}

std::string Text::here() const {
  switch (next_.kind) {
    case Word::Kind::end:
      return "the end of the text";
    case Word::Kind::dotted:
      return "'." + std::string(next_.text.substr(0, 80)) + "'";
    default:
      return "'" + std::string(next_.text.substr(0, 80)) + "'";
  }
}

void Text::expect(std::string_view mark) {
  if (!take_if(mark)) refuse("'" + std::string(mark) + "' is expected, not " + here());
}

std::string_view Text::name(const char *what) {
  if (next_.kind != Word::Kind::name) refuse(std::string(what) + " is expected, not " + here());
  return take().text;
}

std::uint64_t Text::integer(const char *what) {
  if (next_.kind != Word::Kind::integer) refuse(std::string(what) + " is expected, not " + here());
  return take().bits;
}

void Text::skip_block() {
  expect("{");
  for (std::size_t depth = 1; depth;) {
    if (next_.kind == Word::Kind::end) refuse("a '}' is missing at the end of the text");
    const Word word = take();
    if (word.is("{")) ++depth;
    if (word.is("}")) --depth;
  }
}

void Text::skip_directive() {
  const std::uint32_t line = next_.line;
  while (next_.kind != Word::Kind::end && next_.line == line && !next_.is("}")) {
    if (next_.is("{")) return skip_block();
    if (take().is(";")) return;
  }
}

void Text::skip_blanks() {
  for (;;) {
    if (rest_.empty()) return;
    const char c = rest_.front();
    if (c == '\n') {
      ++line_;
      rest_.remove_prefix(1);
    } else if (c == ' ' || c == '\t' || c == '\r') {
      rest_.remove_prefix(1);
    } else if (rest_.starts_with("//") || c == '#') {
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    } else if (rest_.starts_with("/*")) {
      const std::size_t end = rest_.find("*/", 2);
      if (end == rest_.npos) throw Invalid(line_, "a comment that begins here does not end");
      for (char in : rest_.substr(0, end)) line_ += in == '\n';
      rest_.remove_prefix(end + 2);
    } else {
      return;
    }
  }
}

Word Text::read() {
  skip_blanks();
  Word word;
  word.line = line_;
  if (rest_.empty()) return word;
  const char first = rest_.front();
  std::size_t size = 1;
  // What begins a register's name is also the operator of a remainder.
  if (begins_name(first) && (first != '%' || (rest_.size() > 1 && goes_on(rest_[1])))) {
    while (size < rest_.size() && goes_on(rest_[size])) ++size;
    word.kind = Word::Kind::name;
  } else if (is_digit(first) ||
             (first == '.' && rest_.size() > 1 && is_digit(rest_[1]) && !is_shape(rest_))) {
    return number();
  } else if (first == '.' && rest_.size() > 1 && (begins_name(rest_[1]) || is_digit(rest_[1]))) {
    while (size < rest_.size() &&
           (goes_on(rest_[size]) || (rest_[size] == ':' && size + 2 < rest_.size() &&
                                     rest_[size + 1] == ':' && goes_on(rest_[size + 2]))))
      size += rest_[size] == ':' ? 2 : 1;
    word.kind = Word::Kind::dotted;
    word.text = rest_.substr(1, size - 1);
    rest_.remove_prefix(size);
    return word;
  } else if (first == '"') {
    // A backslash stands for itself.
    size = rest_.find_first_of("\"\n", 1);
    if (size == rest_.npos || rest_[size] == '\n')
      throw Invalid(line_, "a string that begins here does not end");
    word.kind = Word::Kind::string;
    word.text = rest_.substr(1, size - 1);
    rest_.remove_prefix(size + 1);
    return word;
  } else {
    word.kind = Word::Kind::mark;
    for (auto pair : pairs)
      if (rest_.starts_with(pair)) size = 2;
  }
  word.text = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return word;
}

Word Text::number() {
  Word word;
  word.line = line_;
  word.kind = Word::Kind::integer;
  int base = 10;
  std::size_t prefix = 0;
  if (rest_.size() > 1 && rest_[0] == '0') {
    const char mark = rest_[1];
    if (mark == 'f' || mark == 'F' || mark == 'd' || mark == 'D') {
      const bool single = mark == 'f' || mark == 'F';
      const std::size_t digits = single ? 8 : 16;
      std::size_t size = 2;
      while (size < rest_.size() && is_hexadecimal(rest_[size])) ++size;
      if (size != digits + 2)
        throw Invalid(line_, "'" + std::string(rest_.substr(0, std::min<std::size_t>(size, 40))) +
                                 "' is no number: it wants " + std::to_string(digits) + " digits");
      std::from_chars(rest_.data() + 2, rest_.data() + size, word.bits, 16);
      word.kind = single ? Word::Kind::single : Word::Kind::real;
      word.text = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return word;
    }
    if (mark == 'x' || mark == 'X') base = 16, prefix = 2;
    if (mark == 'b' || mark == 'B') base = 2, prefix = 2;
    if (is_digit(mark)) base = 8, prefix = 1;
  }
  std::size_t size = 0;
  while (size < rest_.size() &&
         (is_digit(rest_[size]) || rest_[size] == '.' || is_letter(rest_[size]) ||
          ((rest_[size] == '-' || rest_[size] == '+') && base == 10 &&
           (rest_[size - 1] == 'e' || rest_[size - 1] == 'E'))))
    ++size;
  if (base != 16 && base != 2 &&
      rest_.substr(0, size).find_first_of(".eE") != std::string_view::npos)
    return real(size);
  word.text = rest_.substr(0, size);
  const char *end = word.text.data() + size;
  if (end[-1] == 'U') --end, word.is_unsigned = true;
  auto [stop, error] = std::from_chars(word.text.data() + prefix, end, word.bits, base);
  if (error != std::errc() || stop != end)
    throw Invalid(line_, "'" + std::string(word.text.substr(0, 40)) + "' is no number of 64 bits");
  word.is_unsigned |= word.bits >> 63;
  rest_.remove_prefix(size);
  return word;
}

Word Text::real(std::size_t size) {
  Word word;
  word.line = line_;
  word.kind = Word::Kind::real;
  word.text = rest_.substr(0, size);
  double value = 0;
  // A compiler's runtime without from_chars of double is not supported, so there is no strtod of
  // our own.
  auto [stop, error] = std::from_chars(word.text.data(), word.text.data() + size, value);
  if (error != std::errc() || stop != word.text.data() + size)
    throw Invalid(line_, "'" + std::string(word.text.substr(0, 40)) + "' is no number of 64 bits");
  word.bits = std::bit_cast<std::uint64_t>(value);
  rest_.remove_prefix(size);
  return word;
}

}  // namespace simcuda::kernel
