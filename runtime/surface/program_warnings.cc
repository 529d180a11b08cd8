#include "runtime/surface/program_warnings.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace shardwright::commands {
namespace {

using program::Argument;
using program::Operation;
using program::OpId;
using program::Program;
using program::VarId;

struct FirstRead {
  OpId op;  // invalid if nothing has read the variable
  std::size_t input = 0;
};

bool writes(const Operation& op, VarId var) {
  return std::any_of(op.outputs.begin(), op.outputs.end(),
                     [&](const Argument& output) { return output.var == var; });
}

bool has_value_before(const program::Variable& var) { return var.is_feed || var.is_parameter; }

std::string sentence(const Program& program, const std::string& place, VarId var,
                     const FirstRead& read, OpId writer) {
  return place + "/ops/" + std::to_string(read.op.index()) + "/inputs/" +
         std::to_string(read.input) + ": reads \"" + program.var(var).name + "\" before operator " +
         std::to_string(writer.index()) +
         " writes it; list operators in the order in which they run, or mark the variable with "
         "`is_feed` or `is_parameter` if it has a value before";
}

// Warnings must fit on a screen; the JSON has all.
constexpr std::size_t kMostWrong = 8;

std::string wrong_plan(const std::string& place, const std::string& problem) {
  return place + ": Paddle's plan, which --compat reproduces, is wrong by simulation: " + problem +
         "; leave --compat out for one that is right";
}

void keep_a_few(std::vector<std::string>& sentences) {
  if (sentences.size() <= kMostWrong) return;
  const std::size_t more = sentences.size() - kMostWrong;
  sentences.resize(kMostWrong);
  sentences.push_back(std::to_string(more) + " more plans of Paddle are wrong; the JSON has all");
}

}  // namespace

std::vector<std::string> wrong_plans(const Program& program, const std::string& place,
                                     const std::vector<program::WrongPlan>& wrong) {
  std::vector<std::string> sentences;
  sentences.reserve(wrong.size());
  for (const program::WrongPlan& plan : wrong) {
    sentences.push_back(wrong_plan(place + "/ops/" + std::to_string(plan.op.index()) +
                                       (plan.is_output ? "/outputs" : "/inputs") + " (" +
                                       quoted(program.var(plan.var).name) + ")",
                                   plan.problem));
  }
  keep_a_few(sentences);
  return sentences;
}

std::vector<std::string> wrong_plans(const std::vector<TensorReshard>& answers) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& simulation = answers[i].simulation;
    if (simulation && !simulation->ok())
      sentences.push_back(wrong_plan("/" + std::to_string(i), simulation->problem));
  }
  keep_a_few(sentences);
  return sentences;
}

std::vector<std::string> reads_before_writes(const Program& program, const std::string& place) {
  std::vector<std::string> sentences;
  std::vector<FirstRead> reads(program.var_capacity());
  std::vector<bool> written(program.var_capacity(), false);
  for (OpId id = program.block(program::BlockId(0)).first; id.valid(); id = program.next(id)) {
    const Operation& op = program.op(id);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const VarId var = op.inputs[i].var;
      FirstRead& first = reads[var.index()];
      // An operator that reads and writes the variable updates it, which is no early read.
      if (!first.op.valid() && !written[var.index()] && !writes(op, var)) first = {id, i};
    }
    for (const Argument& output : op.outputs) {
      const std::size_t var = output.var.index();
      const bool late = reads[var].op.valid() && !has_value_before(program.var(output.var));
      if (late && !written[var])
        sentences.push_back(sentence(program, place, output.var, reads[var], id));
      written[var] = true;
    }
  }
  return sentences;
}

std::vector<std::string> empty_tensors(const Program& program, const std::string& place) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < program.var_capacity(); ++i) {
    const VarId id(i);
    if (!program.has(id)) continue;
    const program::Variable& var = program.var(id);
    if (std::find(var.shape.begin(), var.shape.end(), 0) == var.shape.end()) continue;
    sentences.push_back(place + "/vars/" + std::to_string(i) + ": an extent of 0 leaves \"" +
                        var.name +
                        "\" no elements, and nothing is sent of it; a batch dimension is "
                        "written as -1");
  }
  return sentences;
}

}  // namespace shardwright::commands
