// Rules of stream_register: what goes in comes out, once and in order. One transfer, `watched`, is chosen by
// the solver and followed. When it goes in, `ahead` transfers are inside; it must come out after exactly that
// many, with the same data.
module stream_register_rules #(
    parameter int unsigned Width = 8,
    parameter bit Full = 1'b1,
    localparam type T = logic [Width-1:0]
) (
    input logic clk_i,
    input logic rst_ni,
    input logic valid_i,
    input logic ready_o,
    input T     data_i,
    input logic valid_o,
    input logic ready_i,
    input T     data_o,
    input T     front_q,
    input T     spare_q,
    input logic front_valid_q,
    input logic spare_valid_q
);
  reset_rules reset (.*);
  stream_rules #(.Assume(1'b1), .Width(Width)) in (
      .clk_i, .rst_ni, .valid_i, .ready_i(ready_o), .data_i);
  stream_rules #(.Assume(1'b0), .Width(Width)) out (
      .clk_i, .rst_ni, .valid_i(valid_o), .ready_i, .data_i(data_o));

  wire entered = valid_i && ready_o;
  wire left = valid_o && ready_i;

  logic [1:0] held;
  logic follow, following_q;
  logic [1:0] ahead_q;
  T watched_q;
  logic [3:0] count_q;
  (* anyseq *) logic follow_any;
  assign follow = follow_any && entered && !following_q;

  always_ff @(posedge clk_i) begin
    held <= held + 2'(entered) - 2'(left);
    if (follow) begin
      following_q <= 1'b1;
      ahead_q     <= held - 2'(left);
      watched_q   <= data_i;
    end else if (following_q && left) begin
      if (ahead_q == 0) following_q <= 1'b0;
      else ahead_q <= ahead_q - 1'b1;
    end
    if (left && count_q != '1) count_q <= count_q + 1'b1;
    if (!rst_ni) begin
      held      <= '0;
      following_q <= 1'b0;
      ahead_q     <= '0;
      count_q     <= '0;
    end
  end

  logic past_q = 1'b0;
  always_ff @(posedge clk_i) past_q <= rst_ni;

  always_comb begin
    if (past_q) begin
      if (following_q && left && ahead_q == 0) rule_2 : assert (data_o == watched_q);
      rule_3 : assert (held <= (Full ? 2 : 1));
      assert (held == 2'(front_valid_q) + 2'(spare_valid_q));
      assert (front_valid_q || !spare_valid_q);
      if (following_q) begin
        assert (ahead_q < held);
        assert ((ahead_q == 0 ? front_q : spare_q) == watched_q);
      end
      // Full rate, through a wait.
      if (Full) cover (count_q == 5 && spare_valid_q);
      // A followed transfer leaves, after another.
      if (Full) cover (following_q && left && ahead_q == 1);
      cover (following_q && left && ahead_q == 0 && count_q == 3);
    end
  end
endmodule

bind stream_register stream_register_rules #(.Width($bits(T)), .Full(Full)) rules (.*);
