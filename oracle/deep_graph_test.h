// Layers of products and normalisations, behind which worst-case bounds allow anything.
#pragma once

#include <string>

namespace lenz::oracle {

// Each layer scales by a half, the middle one by 0.37.
inline std::string deep_graph(int layers) {
  std::string text = "graph @deep(%x: f32[8, 64], %w: f32[64, 64]) {\n", last = "%x";
  for (int i = 0; i < layers; ++i) {
    const std::string n = std::to_string(i);
    text += "  %m" + n + " = aten.mm(" + last + ", %w)\n  %n" + n + " = aten.layer_norm(%m" + n + ", [64])\n  %f" + n +
            " = aten.mul(%n" + n + ", " + (i == layers / 2 ? "0.37" : "0.5") + ")\n  %t" + n + " = aten.tanh(%f" + n +
            ")\n";
    last = "%t" + n;
  }
  return text + "  return " + last + "\n}\n";
}

}  // namespace lenz::oracle
