// Histograms of the times of all connections and of each departure that was done: the figures of a load of any
// length, without single results. Bins are those of `histogram`, of which each instance has room for two.
//
//   gross        from due to the last byte of the response
//   net          from the first byte of the request to the last of the response
//   first byte   from the first byte of the request, with a connection for each from when it was there, to the
//                first byte
//   connect      from the SYN to its answer
//
// A value may enter every four cycles. Gross and first byte enter with the result, net four cycles later; the
// next result is at least 40 cycles behind, as its response has a head. Connections are at least six cycles
// apart, but may come between: then one waits.
module session_histograms
  import session_engine_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        each_i,
    input  logic        result_valid_i,
    input  result_t     result_i,
    input  logic        connected_valid_i,
    input  connected_t  connected_i,
    // While it is high, and from the cycle behind its first one on, nothing more is counted.
    input  logic        hold_i,
    input  logic        read_i,         // held until the answer comes
    input  figure_e     read_figure_i,
    input  logic [9:0]  read_bin_i,
    output logic        read_valid_o,
    output logic [31:0] read_o,
    output logic        uncounted_o
);
  logic hold_q, done_q;
  logic [31:0] gross_q, first_q, net_next_q;
  wire done = done_q;
  wire made = connected_valid_i && !hold_q;

  // Those that wait: net behind gross, and a connection behind a first byte.
  logic net_valid_q, connect_valid_q;
  logic [31:0] net_q, connect_q;
  logic [1:0] whole_rest_q, part_rest_q;  // cycles until another may enter

  wire net = net_valid_q && whole_rest_q == '0;
  wire connect = connect_valid_q && part_rest_q == '0 && !done;

  logic [1:0] missed, answers;
  logic [1:0][31:0] counts;
  wire of_part = read_figure_i == Connect || read_figure_i == FirstByte;
  histogram whole (
      .clk_i,
      .rst_ni,
      .valid_i     (done || net),
      .set_i       (net),
      .value_i     (net ? net_q : gross_q),
      .missed_o    (missed[0]),
      .clear_i     (1'b0),
      .read_i      (read_i && !of_part),
      .read_set_i  (read_figure_i == Net),
      .read_bin_i,
      .read_valid_o(answers[0]),
      .read_o      (counts[0])
  );
  histogram part (
      .clk_i,
      .rst_ni,
      .valid_i     (done || connect),
      .set_i       (!connect),
      .value_i     (connect ? connect_q : first_q),
      .missed_o    (missed[1]),
      .clear_i     (1'b0),
      .read_i      (read_i && of_part),
      .read_set_i  (read_figure_i == FirstByte),
      .read_bin_i,
      .read_valid_o(answers[1]),
      .read_o      (counts[1])
  );
  assign read_valid_o = |answers;
  assign read_o       = answers[1] ? counts[1] : counts[0];

  always_ff @(posedge clk_i) begin
    hold_q       <= hold_i;
    done_q       <= result_valid_i && result_i.outcome == OutcomeDone && !hold_q && rst_ni;
    gross_q      <= result_i.done;
    net_next_q   <= result_i.done - result_i.sent;
    first_q      <= result_i.first - (each_i ? result_i.connected : result_i.sent);
    uncounted_o  <= |missed || done && net_valid_q || made && connect_valid_q && !connect;
    whole_rest_q <= done || net ? 2'd3 : whole_rest_q - 2'(whole_rest_q != '0);
    part_rest_q  <= done || connect ? 2'd3 : part_rest_q - 2'(part_rest_q != '0);
    if (net) net_valid_q <= 1'b0;
    if (done) begin
      net_valid_q <= 1'b1;
      net_q       <= net_next_q;
    end
    if (connect) connect_valid_q <= 1'b0;
    if (made) begin
      connect_valid_q <= 1'b1;
      connect_q       <= connected_i.ticks;
    end
    if (!rst_ni) begin
      hold_q          <= 1'b0;
      net_valid_q     <= 1'b0;
      connect_valid_q <= 1'b0;
      whole_rest_q    <= '0;
      part_rest_q     <= '0;
    end
  end
endmodule
