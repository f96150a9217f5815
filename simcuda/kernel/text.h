// SPDX-License-Identifier: BSD-3-Clause
// PTX text as a sequence of words.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace simcuda::kernel {

// Thrown for PTX that is invalid or that the engine does not support.
class Invalid : public std::runtime_error {
 public:
  Invalid(std::uint32_t at, const std::string &why)
      : std::runtime_error("line " + std::to_string(at) + ": " + why), line(at) {}
  const std::uint32_t line;
};

struct Word {
  enum class Kind : std::uint8_t {
    end,
    name,     // foo, %r1, $L__BB0_2
    dotted,   // .global, .L2::128B: without its dot
    integer,  // and whether its type is .u64
    single,   // 0f3F800000: `bits` are of an f32
    real,     // 0d3FF0000000000000, 1.5: `bits` are of an f64
    string,
    mark,  // one character, or two: << >> <= >= == != && ||
  };
  Kind kind = Kind::end;
  std::string_view text;
  std::uint64_t bits = 0;
  std::uint32_t line = 1;
  bool is_unsigned = false;

  bool is(std::string_view mark) const { return kind == Kind::mark && text == mark; }
  bool is_dotted(std::string_view name) const { return kind == Kind::dotted && text == name; }
  bool is_name(std::string_view name) const { return kind == Kind::name && text == name; }
};

class Text {
 public:
  explicit Text(std::string_view text, std::uint32_t line = 1) : rest_(text), line_(line) {
    next_ = read();
  }

  const Word &peek() const { return next_; }
  Word take();
  bool take_if(std::string_view mark);
  bool take_if_dotted(std::string_view name);
  void expect(std::string_view mark);
  std::string_view name(const char *what);
  std::uint64_t integer(const char *what);
  // Skips the rest of this line, with a block in braces that begins on it, or up to a semicolon.
  void skip_directive();
  void skip_block();
  std::uint32_t line() const { return next_.line; }
  [[noreturn]] void refuse(const std::string &why) const { throw Invalid(next_.line, why); }
  // "'foo'", or what is there instead, for a message.
  std::string here() const;

 private:
  Word read();
  void skip_blanks();
  Word number();
  Word real(std::size_t size);

  std::string_view rest_;
  std::uint32_t line_;
  Word next_;
};

}  // namespace simcuda::kernel
