// Rules of credits. The held credits are counted here, from the beats that enter and leave.
module credits_rules #(
    parameter int unsigned Capacity = 2048,
    localparam int unsigned Width = $clog2(Capacity + 1)
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             revoke_i,
    input logic             grant_valid_o,
    input logic             grant_ready_i,
    input logic [Width-1:0] grant_o,
    input logic             use_valid_i,
    input logic [Width-1:0] use_i,
    input logic             refused_o,
    input logic             free_i,
    input logic [Width-1:0] free_q,
    input logic [Width-1:0] offered_q,
    input logic [Width-1:0] outstanding_q
);
  localparam int unsigned W = Width + 3;

  reset_rules reset (.*);
  stream_rules #(.Assume(1'b0), .Width(Width)) grants (
      .clk_i, .rst_ni, .valid_i(grant_valid_o), .ready_i(grant_ready_i), .data_i(grant_o));

  // The host's credits, granted and not used; and the queue's.
  logic [W-1:0] host, held;
  logic refused_seen, revoked_seen;
  logic past_q = 1'b0;

  wire used = use_valid_i && !refused_o;

  always_ff @(posedge clk_i) begin
    past_q <= rst_ni;
    host   <= (revoke_i ? '0 : host - (used ? W'(use_i) : '0)) + (grant_valid_o && grant_ready_i ? W'(grant_o) : '0);
    held   <= held + (used ? W'(use_i) : '0) - W'(free_i);
    refused_seen <= refused_seen || refused_o;
    revoked_seen <= revoked_seen || (revoke_i && host != 0);
    if (!rst_ni) begin
      host <= '0;
      held <= '0;
      refused_seen <= 1'b0;
      revoked_seen <= 1'b0;
    end
  end

  always_comb begin
    if (free_i) assume (past_q && held != 0);
    if (use_valid_i) assume (!grant_ready_i);
    if (past_q) begin
      rule_1_none_lost : assert (W'(free_q) + W'(offered_q) + W'(outstanding_q) + held == W'(Capacity));
      rule_2_no_overrun : assert (held <= W'(Capacity) && host + held <= W'(Capacity));
      rule_2_refused : assert (refused_o == (use_valid_i && (revoke_i || W'(use_i) > host)));
      assert (host == W'(outstanding_q));
      cover (held == W'(Capacity) && refused_seen);
      cover (revoked_seen && host == W'(Capacity));
    end
  end
endmodule

bind credits credits_rules #(.Capacity(Capacity)) rules (.*);
