// Credits and queue as core connects them, with any sender that stays within its credits; host_link is one by
// its rule 3. For each frame the sender asks once for as many credits as the frame has beats. If they are not
// refused, it sends the frame.
module live_path
  import tare_pkg::*;
#(
    parameter int unsigned Beats = 8,
    localparam int unsigned Width = $clog2(Beats + 1)
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             revoke_i,
    output logic            grant_valid_o,
    input logic             grant_ready_i,
    output logic [Width-1:0] grant_o,
    input logic             use_valid_i,
    input logic [Width-1:0] use_i,
    output logic            refused_o,
    input logic             valid_i,
    input departure_t       departure_i,
    input beat_t            beat_i,
    output logic            ready_o,
    output logic            departure_valid_o,
    input logic             departure_ready_i,
    output departure_t      departure_o,
    output logic            valid_o,
    input logic             ready_i,
    output beat_t           beat_o,
    output logic            empty_o
);
  credits #(
      .Capacity(Beats)
  ) quota (
      .clk_i,
      .rst_ni,
      .revoke_i,
      .grant_valid_o,
      .grant_ready_i,
      .grant_o,
      .outstanding_o(),
      .use_valid_i,
      .use_i,
      .refused_o,
      .free_i       (valid_o && ready_i)
  );

  // A frame may have a single beat here. Frames of the link have eight or more, so the real queue also has a
  // place for each frame's departure.
  paced_queue #(
      .Beats     (Beats),
      .Departures(Beats)
  ) queue (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o,
      .departure_i,
      .beat_i,
      .departure_valid_o,
      .departure_ready_i,
      .departure_o,
      .valid_o,
      .ready_i,
      .beat_o,
      .empty_o
  );

  // Beats whose credits were taken and which were not yet sent.
  logic [Width-1:0] paid;
  logic begun_q = 1'b0;
  logic refused_q;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    paid    <= paid + (use_valid_i && !refused_o ? use_i : '0) - Width'(valid_i && ready_o);
    if (refused_o) refused_q <= 1'b1;
    if (!rst_ni) begin
      paid      <= '0;
      refused_q <= 1'b0;
    end
  end

  // Beats in the queue.
  wire [31:0] queued = 32'(queue.beats.stored_q) + 32'(queue.beats.fetched_valid_q) + 32'(valid_o);

  always_comb begin
    // While nothing is forgotten, a beat is taken after the departure of its frame.
    if (ready_i) assume (queue.rules.open > 0);
    if (use_valid_i) assume (paid == 0 && use_i != 0 && !grant_ready_i);
    if (valid_i) assume (paid != 0 && beat_i.last == (paid == 1));
    if (begun_q) begin
      rule_1_never_overrun : assert (!valid_i || ready_o);
      rule_2_none_lost :
      assert (32'(quota.free_q) + 32'(quota.offered_q) + 32'(quota.outstanding_q) + 32'(paid) + queued == 32'(Beats));
      assert (queue.rules.open >= 0);
      cover (refused_q && queued == 32'(Beats));
      cover (refused_q && queued == 1 && valid_o && ready_i);
    end
  end
endmodule
