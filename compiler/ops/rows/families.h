// The families of rows, one file each. Adding a family is a file and a line here; adding an op is a row in its family.
#pragma once

#include <string_view>

#include "compiler/ops/row.h"

namespace lenz {

void structural_rows(RowSink& t);
void symbolic_rows(RowSink& t);
void control_flow_rows(RowSink& t);
void reduction_rows(RowSink& t);
void statistics_rows(RowSink& t);
void normalisation_rows(RowSink& t);
void normalisation_backward_rows(RowSink& t);
void loss_rows(RowSink& t);
void indexing_rows(RowSink& t);
void spatial_rows(RowSink& t);
void contraction_rows(RowSink& t);
void convolution_rows(RowSink& t);
void pointwise_unary_rows(RowSink& t);
void pointwise_binary_rows(RowSink& t);
void view_rows(RowSink& t);
void pointwise_ternary_rows(RowSink& t);
void pointwise_special_rows(RowSink& t);
void movement_rows(RowSink& t);
void activation_rows(RowSink& t);
void creation_rows(RowSink& t);
void foreach_rows(RowSink& t);

struct Family {
  std::string_view name;
  void (*fill)(RowSink&);
};

inline constexpr Family kFamilies[] = {
    {"structural", structural_rows},
    {"symbolic", symbolic_rows},
    {"control_flow", control_flow_rows},
    {"reduction", reduction_rows},
    {"statistics", statistics_rows},
    {"normalisation", normalisation_rows},
    {"normalisation_backward", normalisation_backward_rows},
    {"loss", loss_rows},
    {"indexing", indexing_rows},
    {"spatial", spatial_rows},
    {"contraction", contraction_rows},
    {"convolution", convolution_rows},
    {"pointwise_unary", pointwise_unary_rows},
    {"pointwise_binary", pointwise_binary_rows},
    {"views", view_rows},
    {"pointwise_ternary", pointwise_ternary_rows},
    {"pointwise_special", pointwise_special_rows},
    {"movement", movement_rows},
    {"activations", activation_rows},
    {"creation", creation_rows},
    {"foreach", foreach_rows},  // derives from rows above
};

}  // namespace lenz
