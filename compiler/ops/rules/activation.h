// Result types of activations and of their gradients, where eager's steps differ from a plain elementwise op's.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

void celu(Infer& in);
void gelu(Infer& in);
void softshrink(Infer& in);
void hardtanh(Infer& in);
void log_sigmoid(Infer& in);  // one or two results, contiguous
void glu(Infer& in);
void prelu(Infer& in);
void prelu_kernel(Infer& in);
void rrelu(Infer& in);
void rrelu_with_noise(Infer& in);  // writes the slopes that it draws

void rrelu_with_noise_functional(Infer& in);

// --- gradients
void activation_backward(Infer& in);  // of grad_output and self, in that order
void elu_backward(Infer& in);
void gelu_backward(Infer& in);
void leaky_relu_backward(Infer& in);
void mish_backward(Infer& in);
void softshrink_backward(Infer& in);
void threshold_backward(Infer& in);  // of self and grad_output, in that order
void log_sigmoid_backward(Infer& in);
void glu_backward(Infer& in);
void glu_jvp(Infer& in);
void prelu_kernel_backward(Infer& in);
void rrelu_with_noise_backward(Infer& in);

}  // namespace lenz::rule
