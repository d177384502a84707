// Generates frames: 32 templates, varying fields, checksums, sequence numbers, lists of gaps and sizes. Frames
// of 64 bytes follow each other every 8 cycles.
//
//   list ──► generator_plan ──► generator_beats ──► frames
//               │
//               └──► departures, one frame ahead
//
// A departure is available before its frame's first beat. Frames have no holes: generator_beats produces a beat
// per cycle and waits only between frames.
module generator
  import tare_pkg::*;
  import generator_pkg::*;
  import registers_pkg::*;
#(
    parameter int unsigned StoredBeats = 4096
) (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       run_i,
    output logic       idle_o,
    input  generator_t settings_i,  // constant while it runs
    input  logic       gap_set_i,
    input  memory_t    memory_i,  // written while it is stopped
    output logic       departure_valid_o,
    input  logic       departure_ready_i,
    output departure_t departure_o,
    output logic       valid_o,
    input  logic       ready_i,
    output beat_t      beat_o
);
  logic gap_first, gap_step, plan_valid, beats_ready, departure_ready, plan_idle, beats_idle;
  logic [31:0] gap;
  plan_t plan;
  departure_t departure;

  assign idle_o = plan_idle && beats_idle && !departure_valid_o;

  gap_accumulator #(
      .Width(32)
  ) gaps (
      .clk_i,
      .rst_ni,
      .set_i        (gap_set_i || gap_first),
      .whole_i      (settings_i.gap_whole),
      .numerator_i  (settings_i.gap_numerator),
      .denominator_i(settings_i.gap_denominator),
      .step_i       (gap_step),
      .gap_o        (gap)
  );

  generator_plan plans (
      .clk_i,
      .rst_ni,
      .run_i,
      .idle_o      (plan_idle),
      .settings_i,
      .gap_i       (gap),
      .gap_first_o (gap_first),
      .gap_step_o  (gap_step),
      .memory_i,
      .plan_valid_o(plan_valid),
      .plan_ready_i(beats_ready && departure_ready),
      .plan_o      (plan),
      .departure_o (departure)
  );

  generator_beats #(
      .StoredBeats(StoredBeats)
  ) beats (
      .clk_i,
      .rst_ni,
      .memory_i,
      .plan_valid_i(plan_valid && departure_ready),
      .plan_ready_o(beats_ready),
      .plan_i      (plan),
      .idle_o      (beats_idle),
      .valid_o,
      .ready_i,
      .beat_o
  );

  // One place is enough, as a departure comes every eight cycles.
  assign departure_ready = !departure_valid_o;
  always_ff @(posedge clk_i) begin
    if (departure_ready) departure_o <= departure;
    if (departure_ready) departure_valid_o <= plan_valid && beats_ready;
    else if (departure_ready_i) departure_valid_o <= 1'b0;
    if (!rst_ni) departure_valid_o <= 1'b0;
  end
endmodule
